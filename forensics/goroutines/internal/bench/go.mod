module github.com/nodeforensics/nodeforensics/forensics/goroutines/internal/bench

go 1.26.0

replace github.com/nodeforensics/nodeforensics => ../../../..

require (
	github.com/DataDog/gostackparse v0.7.0
	github.com/maruel/panicparse/v2 v2.5.0
	github.com/nodeforensics/nodeforensics v0.0.0-00010101000000-000000000000
)

require github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe // indirect
