#!/usr/bin/env bash
# Runs a command on Debian sid, whose Vulkan device in software has cooperative matrices. The root
# is .cache/sid, or NACRE_SID names it; debootstrap makes it where there is none. The project and
# its data are where they are outside. It must be run by root.
set -euo pipefail
cd "$(dirname "$0")/.."
root=${NACRE_SID:-$PWD/.cache/sid}
if [ ! -e "$root/made" ]; then
  command -v debootstrap >/dev/null || { echo "sid: debootstrap is missing" >&2; exit 1; }
  rm -rf "$root"
  debootstrap --variant=minbase --include=mesa-vulkan-drivers,libvulkan1,vulkan-validationlayers sid "$root" >&2
  touch "$root/made"
fi
for driver in "$root"/usr/share/vulkan/icd.d/lvp_icd*.json; do
  export VK_DRIVER_FILES=${driver#"$root"} VK_ICD_FILENAMES=${driver#"$root"}
done
# The mounts are of a namespace that ends with the command.
# shellcheck disable=SC2016 # the inner shell expands
exec unshare --mount --propagation private bash -c '
  set -euo pipefail
  root=$1 folders=("$2" "$3")
  shift 3
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev" || mount --rbind /dev "$root/dev"
  for folder in "${folders[@]}"; do
    mkdir -p "$root$folder"
    mount --bind "$folder" "$root$folder"
  done
  exec chroot "$root" env -C "${folders[0]}" "$@"
' sid "$root" "$PWD" "$(readlink -f .cache)" "$@"
