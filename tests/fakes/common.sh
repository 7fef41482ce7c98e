# shellcheck shell=sh
# What every fake engine shares: it answers picchio's questions like a llama-completion of build 11669
# and knows the situation of a small run on a CPU. Sourced by the engine-* scripts.

# Answers --version and --help, then returns for any other command line.
answer_questions() {
  for argument; do
    case $argument in
      --version)
        echo "version: 0.7.0 (build 11669, commit fake)" >&2
        echo "built with GNU 12.2.0 for Linux x86_64" >&2
        exit 0
        ;;
      -h | --help)
        cat <<'HELP'
----- common params -----

-h,    --help, --usage                  print usage and exit
--version                               show version and build info
-c,    --ctx-size N                     size of the prompt context
-n,    --predict, --n-predict N         number of tokens to predict
-m,    --model FNAME                    model path to load
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM
-v,    --verbose, --log-verbose         set verbosity level to infinity
-lv,   --verbosity, --log-verbosity N   set the verbosity threshold. Values:
                                         - 0: generic output
                                         - 1: error
                                         - 2: warning
                                         - 3: info
                                         - 4: trace (more info)
                                         - 5: debug

----- sampling params -----

-s,    --seed SEED                      RNG seed
--ignore-eos                            ignore end of stream token and continue generating

----- example-specific params -----

--no-display-prompt                     don't print the prompt
-cnv,  -no-cnv, --conversation, --no-conversation
                                        whether to run in conversation mode
--simple-io                             use basic IO for better compatibility in subprocesses
HELP
        exit 0
        ;;
    esac
  done
}

# The loader's lines of a model of eight layers that lies on the CPU.
print_load() {
  cat >&2 <<'LOG'
0.00.010.100 I build: 11669 (fake) with GNU 12.2.0 for Linux x86_64
0.00.010.200 I system_info: n_threads = 2 (n_threads_batch = 2) / 2 | CPU : SSE3 = 1 | AVX2 = 1 |
0.00.010.300 I print_info: file size   = 4.06 MiB (4.60 BPW)
0.00.010.400 I load_tensors: loading model tensors, this can take a while... (mmap = true)
0.00.010.500 I load_tensors: offloading output layer to GPU
0.00.010.600 I load_tensors: offloaded 9/9 layers to GPU
0.00.010.700 I load_tensors:   CPU_Mapped model buffer size =     4.06 MiB
0.00.010.800 I llama_context: n_ctx         = 4096
0.00.010.900 I llama_kv_cache:        CPU KV buffer size =    16.00 MiB
0.00.011.000 I sched_reserve:        CPU compute buffer size =    11.02 MiB
0.00.011.100 I sched_reserve: graph splits = 1
LOG
}

print_rates() {
  cat >&2 <<'LOG'
0.00.500.100 I common_perf_print:        load time =      20.00 ms
0.00.500.200 I common_perf_print: prompt eval time =     200.00 ms /   732 tokens (    0.27 ms per token,  3660.00 tokens per second)
0.00.500.300 I common_perf_print:        eval time =     254.00 ms /   127 runs   (    2.00 ms per token,   500.00 tokens per second)
0.00.500.400 I common_perf_print:       total time =     460.00 ms /   859 tokens
LOG
}
