# The front door; the build itself is meson.build.
#
#   make              build into build/ (installs missing system packages first)
#   make test         all tests; ends with `N passed, N failed, N skipped`
#   make check        what CI runs: format, gcc, clang, sanitizers, all tests
#   make bench        speed against peers, as ratios
#   make web          cleave.html, the engine in the page, in build-web/
#   make asan         ASan + UBSan build and tests, in build-asan/
#   make threads      what runs on several threads, under ASan and under TSan
#   make clang        a clang build with warnings as errors, in build-clang/
#   make differential random models against ONNX Runtime and PyTorch, SECONDS=60
#   make fuzz         libFuzzer on everything that reads, SECONDS=60 each
#   make fuzz-coverage lines that tests and seeds reach, per folder
#   make syscalls     every system call of every command that writes fails once
#   make soak         10,000 files by 24 threads of one process, under TSan too
#   make mpi          12 networks on 2 to 6 MPI ranks, then 200 jobs in a row
#   make attack       mutated models through every command, FILES=100000
#   make format       rewrite the sources; make format-check only looks
#   make install      library, headers, command, man page (PREFIX=, DESTDIR=)

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
FILES   ?= 100000

FOLDERS = $(wildcard include src cli mpi python tests fuzz bench examples)
SOURCES = find $(FOLDERS) -name '*.[ch]'

all:
	@tools/build $(BUILD)

test:
	@-tools/deps test
	@tools/build $(BUILD)
	@tests/run --build $(BUILD)

check:
	@.ci/run

bench: all
	@bench/run --build $(BUILD)

web:
	@tools/deps build web
	@why=$$(web/setup) || { echo "make web: $$why" >&2; exit 1; }
	@web/engine/build build-web
	@ls -l build-web/cleave.html build-web/cleave.wasm

# Warnings are no errors here: instrumented code makes gcc see false ones. The
# search for leaks crashes on threads of OpenMP, so there is one; and on variables
# per thread of plugins, whose size it guesses, so it is not told of those.
asan:
	@tools/build build-asan -Db_sanitize=address,undefined
	@-tools/deps test
	@OMP_THREAD_LIMIT=1 ASAN_OPTIONS=intercept_tls_get_addr=0 tests/run --build build-asan

# The search for leaks left out, ASan takes threads of OpenMP; TSan does not know
# what they wait for, so there contexts run on threads of their own.
threads:
	@tools/build build-asan -Db_sanitize=address,undefined
	@ASAN_OPTIONS=detect_leaks=0 tests/run --build build-asan test_run test_ort cli/run
	@tools/build --command build-tsan -Db_sanitize=thread
	@ninja -C build-tsan tests/test_run
	@OMP_THREAD_LIMIT=1 build-tsan/tests/test_run

clang:
	@tools/deps dev
	@CC=clang tools/build build-clang -Dwerror=true

fuzz:
	@tools/deps dev
	@CC=clang tools/build build-fuzz -Dfuzz=true -Db_lundef=false
	@fuzz/run --build build-fuzz --seconds $(SECONDS)

fuzz-coverage:
	@fuzz/coverage

syscalls: all
	@CLEAVE_BUILD=$(abspath $(BUILD)) CLEAVE_SWEEP= $(BUILD)/tests/test_syscalls

# Under TSan fewer files, and plain C alone.
soak: all
	@CLEAVE_SOAK=2500,4 $(BUILD)/tests/test_soak
	@tools/build --command build-tsan -Db_sanitize=thread
	@ninja -C build-tsan tests/test_soak
	@CLEAVE_SOAK=200,2 build-tsan/tests/test_soak

# Needs Python with PyTorch and ONNX Runtime, which tools/pyenv sets up.
mpi: all
	@$$(tools/pyenv --gen) tests/gen/mpi_matrix.py --build $(BUILD)
	@$$(tools/pyenv --gen) tests/gen/mpi_matrix.py --build $(BUILD) --runs 200

# With BUILD=build-asan under sanitizers.
attack:
	@tools/build $(BUILD)
	@$(BUILD)/fuzz/attack --count $(FILES) --seed $$(date +%s) --keep $(BUILD)/attack \
		tests/data fuzz/corpus

# Needs Python with PyTorch and ONNX Runtime, which tools/pyenv sets up.
differential: all
	@$$(tools/pyenv --gen) tests/gen/differential.py --build $(BUILD) --seconds $(SECONDS)

format:
	@tools/deps dev
	@$(SOURCES) | xargs -r clang-format -i

format-check:
	@tools/deps dev
	@$(SOURCES) | xargs -r clang-format --dry-run --Werror

install:
	@tools/build --prefix $(PREFIX) $(BUILD)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet

# Keeps build/venv, the Python of tools/pyenv: PyTorch is a long download.
clean:
	rm -rf build-*
	find build -mindepth 1 -maxdepth 1 ! -name 'venv*' -exec rm -rf {} +

.PHONY: all test check bench web asan threads clang fuzz fuzz-coverage syscalls soak mpi attack differential format format-check install clean
