# Sourced by the other scripts: goes to the root of the checkout and sees to it that .venv holds what they need.
#
# The first time this installs the package (editable) and everything that tests, demo and benchmarks use, in the versions
# of constraints.txt. After that a stamp in .venv tells that nothing changed, and neither pip nor the network is used.
# PYTHON names the interpreter to make .venv with (3.10 or newer); all of pip's own settings (PIP_INDEX_URL, ...) hold.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# No test or demo asks a hub or looks for an accelerator, unless the caller says so.
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" JAX_PLATFORMS="${JAX_PLATFORMS:-cpu}" PIP_DISABLE_PIP_VERSION_CHECK=1

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "graph_compiler needs Python 3.10 or newer; name one with PYTHON=/path/to/python" >&2
    return 1
}

make_environment() {
    local python
    python="$(find_python)" || return 1
    echo "making .venv with $("$python" --version)" >&2
    # Some systems ship venv without ensurepip; there the system's pip installs one into the new environment.
    "$python" -m venv --clear .venv 2>/dev/null || {
        "$python" -m venv --clear --without-pip .venv && "$python" -m pip --python .venv/bin/python install --quiet pip
    }
}

install_packages() {
    echo "installing graph_compiler and what its tests need into .venv (some minutes, once)" >&2
    # setuptools first, so that the package itself is built here, without a second environment for it.
    python -m pip install --quiet --constraint constraints.txt setuptools &&
        python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
}

.venv/bin/python -c '' 2>/dev/null || make_environment || exit 1
export PATH="$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv"
unset PYTHONHOME

wanted="$(cat constraints.txt setup.cfg setup.py | cksum)"
if [ "$(cat .venv/graph_compiler.stamp 2>/dev/null)" != "$wanted" ]; then
    install_packages || exit 1
    echo "$wanted" >.venv/graph_compiler.stamp
fi
