# shellcheck shell=sh
# Settings that put the rig's llama.cpp in one situation or another. To be sourced, with RIG set to the
# folder that make_rig.sh filled:
#
#   RIG=build/engine; . tests/rig/env.sh
#   no_gpu picchio MODEL --bin "$RIG/bin/llama-completion"
#
# Without one of them llama.cpp's Vulkan backend looks for the real drivers of this machine.

# No Vulkan device at all: the backend is loaded and finds nothing.
no_gpu() { VK_DRIVER_FILES=$RIG/none/none.json "$@"; }

# One Vulkan device, llvmpipe, which is this machine's CPU. ggml hides software devices unless told
# which device to use, hence GGML_VK_VISIBLE_DEVICES. The shader cache saves a minute of compiling
# from the second run on.
llvmpipe() {
  VK_DRIVER_FILES=$RIG/lvp.json GGML_VK_VISIBLE_DEVICES=0 MESA_SHADER_CACHE_DIR=$RIG/shader-cache "$@"
}
