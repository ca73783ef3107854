# Source this from the repository's root: uses the active virtual environment, or makes
# and activates .venv, and installs the project into it once per state of setup.py.

if [ -z "${VIRTUAL_ENV:-}" ]; then
  [ -f .venv/bin/activate ] || python3 -m venv .venv
  . .venv/bin/activate
fi

_mmcasvit_stamp="$VIRTUAL_ENV/mmcasvit-installed"
_mmcasvit_state="$(cat setup.py mmcasvit/version.py | sha256sum | cut -c1-16) $PWD"
if [ "$(cat "$_mmcasvit_stamp" 2>/dev/null)" != "$_mmcasvit_state" ]; then
  echo "Installing into $VIRTUAL_ENV (the first time: some minutes and 6 GB)"
  python -m pip install --quiet --disable-pip-version-check -e '.[onedl,dev]'
  echo "$_mmcasvit_state" > "$_mmcasvit_stamp"
fi
