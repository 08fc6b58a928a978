#!/bin/sh
# Makes the admin key and the secret key in a folder, where they are not there yet, and writes
# over none: what Redis holds opens with that secret key alone.
#   sh deploy/package/keys.sh FOLDER
# The folder is for its owner alone. The files in it are readable, since Compose mounts them as
# they are, and the user of the container is another one.
set -eu

folder=${1:?name the folder that the keys go into}
mkdir -p "$folder"
chmod 700 "$folder"
for name in admin secret; do
  [ -s "$folder/$name.key" ] || head -c 32 /dev/urandom | base64 >"$folder/$name.key"
  chmod 444 "$folder/$name.key"
done
echo "keys are in $folder: admin.key, secret.key"
