# mpi.bash - what the tests of cleave-mpi share; sourced after cli.bash.

# Skips where there is no MPI to test with.
need_mpi() {
    cleave-mpi --version >/dev/null 2>&1 || skip "cleave-mpi was built without MPI"
    command -v $launcher >/dev/null || skip "there is no mpirun"
}

# The launcher of the MPI that cleave-mpi was built with: Debian may have two.
launcher=mpirun
if ldd "$(command -v cleave-mpi)" 2>/dev/null | grep -q libmpich && command -v mpirun.mpich >/dev/null; then
    launcher=mpirun.mpich
fi
open_mpi() { $launcher --version 2>/dev/null | grep -q 'Open MPI'; }

# ranks N COMMAND...: starts N ranks, whoever the user is and however few cores
# there are. The launcher's own words about an end go to launcher.err.
ranks() {
    local flags=()
    if open_mpi; then
        flags=(--oversubscribe --mca btl_vader_single_copy_mechanism none)
        [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
        # Jobs that start at the same time race for one folder.
        mkdir -p "$PWD/.mpi.$BASHPID"
        flags+=(--mca orte_tmpdir_base "$PWD/.mpi.$BASHPID")
    fi
    local n=$1
    shift
    timeout 600 $launcher "${flags[@]}" -n "$n" "$@"
}

# The folder of this test marks its ranks: others may run ranks of their own.
export CLEAVE_TEST_RANKS=$PWD

# pid_of_rank R: the process of rank R of this test's job; any rank if R is '.*'.
pid_of_rank() {
    local p
    for p in $(pgrep -f '^cleave-mpi run'); do
        tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" >environ || continue
        grep -qxF "CLEAVE_TEST_RANKS=$PWD" environ &&
            grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1" environ && echo "$p"
    done | head -1
}

# -- machines of their own: network namespaces -------------------------------

# Skips where namespaces cannot be made; says what is missing.
need_namespaces() {
    [ "$(id -u)" -eq 0 ] || skip "namespaces of the network are made by root only"
    command -v ip >/dev/null && command -v tc >/dev/null || skip "there is no iproute2"
    ip netns add "clv$$" 2>/dev/null || skip "no namespaces of the network can be made here"
    ip netns del "clv$$"
    (ip link add "clv$$" type veth && ip link del "clv$$") 2>/dev/null ||
        skip "the kernel has no veth"
}

# network N MS: namespaces clv$$-1 to -N with the addresses 10.77.0.1 to N, joined
# by wires of 1 Gbit/s and, unless MS is 0, of so many milliseconds: by netem, or
# where the kernel has none by tests/slow_net. Ends the network before it.
network() {
    local i net
    network_end
    trap network_end EXIT
    ends=$1 wire=veth0
    for ((i = 1; i <= $1; i++)); do
        ip netns add "clv$$-$i"
        ip -n "clv$$-$i" link set lo up
    done
    if [ "$2" -ne 0 ] && ! tc -n "clv$$-1" qdisc add dev lo root netem delay 1ms 2>/dev/null; then
        wire=tun0
        : >wire.out
        "$CLEAVE_BUILD/tests/slow_net" "$2" $(for ((i = 1; i <= $1; i++)); do echo "clv$$-$i"; done) >wire.out &
        slow_net=$!
        until grep -q ready wire.out; do
            kill -0 $slow_net || skip "neither netem nor tun: no wire with a delay"
            sleep 0.02
        done
    else
        tc -n "clv$$-1" qdisc del dev lo root 2>/dev/null
        ip netns add "clv$$-0"
        ip -n "clv$$-0" link add sw0 type bridge || skip "the kernel has no bridge"
        ip -n "clv$$-0" link set sw0 up
    fi
    for ((i = 1; i <= $1; i++)); do
        net="clv$$-$i"
        if [ $wire = veth0 ]; then
            ip link add veth0 netns "$net" type veth peer name "p$i" netns "clv$$-0"
            ip -n "clv$$-0" link set "p$i" master sw0 up
        fi
        ip -n "$net" addr add "10.77.0.$i/24" dev $wire
        ip -n "$net" link set $wire up
        if [ "$2" -ne 0 ] && [ $wire = veth0 ]; then
            tc -n "$net" qdisc add dev veth0 root netem delay "$2ms" rate 1gbit limit 10000
        else
            tc -n "$net" qdisc add dev $wire root tbf rate 1gbit burst 128kb latency 50ms ||
                skip "the kernel has no tbf"
        fi
    done
}

network_end() {
    local net
    [ -z "${slow_net-}" ] || kill "$slow_net" 2>/dev/null
    slow_net=
    for net in $(ip netns list | grep -o "^clv$$-[0-9]*"); do
        ip netns pids "$net" | xargs -r kill -9 2>/dev/null
        ip netns del "$net"
    done
}

# sent_by I: bytes that namespace I has sent over its wire.
sent_by() { ip netns exec "clv$$-$1" cat "/sys/class/net/$wire/statistics/tx_bytes"; }

# ranks_apart N COMMAND...: a rank in each of N namespaces. The launcher runs in
# the first and starts the others by what stands for ssh.
ranks_apart() {
    local n=$1 i hosts='' flags
    shift
    for ((i = 1; i <= n; i++)); do hosts+="${hosts:+,}10.77.0.$i"; done
    cat >agent <<END
#!/bin/sh
# agent [FLAGS] HOST COMMAND...: what ssh does, in the namespace of that address.
while case \$1 in -*) true ;; *) false ;; esac; do shift; done
net=clv$$-\${1##*.}
shift
exec ip netns exec \$net unshare -u sh -c "hostname \$net; cd '$PWD'; \$*"
END
    chmod +x agent
    if open_mpi; then
        flags=(--allow-run-as-root --host "$hosts" --mca plm_rsh_agent "$PWD/agent"
            --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24
            --mca orte_tmpdir_base "$PWD/.mpi.$BASHPID" -x PATH -x CLEAVE_TEST_RANKS)
        mkdir -p "$PWD/.mpi.$BASHPID"
    else
        # UCX would take the short way through the memory that all of them share.
        flags=(-hosts "$hosts" -launcher ssh -launcher-exec "$PWD/agent" -iface "$wire" -localhost 10.77.0.1
            -genv MPIR_CVAR_NOLOCAL 1 -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES "$wire")
    fi
    timeout 600 "$PWD/agent" 10.77.0.1 $launcher "${flags[@]}" -n "$n" "$@"
}
