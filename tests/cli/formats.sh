# What is read and written, as text, JSON and CSV.
run cleave formats
run cleave formats --json
cleave formats --output formats.csv && cat formats.csv
