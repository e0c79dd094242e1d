# Plans for a cluster and their schedule: text, JSON, CSV, picture and trace;
# each kind of bad input is one line.
cat >cluster.json <<'END'
{"hosts": [{"name": "a", "devices": [{"name": "gpu", "count": 2,
   "fp32": 1e12, "bandwidth": 1e11, "memory": 1e9, "to_host": {"bandwidth": 1e9, "latency": 1e-6}}]}]}
END
plan() { cleave partition resnet18 --strategy pipeline "$@"; }
plan --cluster cluster.json --replicas 1
plan --cluster cluster.json --replicas 1 --simulate 6 --svg a.svg --trace a.json
grep -c '<rect' a.svg
jq -c '[.traceEvents[] | .ph] | group_by(.) | map([.[0], length])' a.json
plan --cluster cluster.json --replicas 1 --simulate 6 --schedule 1f1b --json |
    jq -c '[.stages, .micro_batches, .under_way, (.spans | length), (.makespan >= .lower_bound)]'
plan --stages 2 --hardware t4 --simulate 2 --output spans.csv
wc -l <spans.csv

echo "-- bad input"
plan --stages 2 --simulate 4
plan --stages 2 --svg a.svg
plan --cluster cluster.json --simulate 4 --output parts
cleave partition resnet18 --simulate 4
plan --cluster nowhere.json
printf '{"hosts": [' >torn.json
plan --cluster torn.json
sed 's/"bandwidth": 1e9/"bandwidth": 0/' cluster.json >zero.json
plan --cluster zero.json
sed 's/"memory": 1e9/"memory": 1e7/' cluster.json >small.json
plan --cluster small.json
sed 's/"memory": 1e9/"memory": 3e7/' cluster.json >tight.json
plan --cluster tight.json --replicas 1 --quiet >/dev/null && echo fits
sed 's/"memory": 1e9/"memory": 3e7/; s/"count": 2/"count": 1/' cluster.json >one.json
plan --cluster one.json
