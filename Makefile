# Everyday work needs no make: go build ./... and go test ./... are enough.

.PHONY: demo build sbom test test-full bench-peers bench-operators wasm web shaders fmt check clean

demo: ## build the command and read the pictures it carries
	@scripts/check-tools.sh
	@echo 'go build -o nacre ./cmd/nacre   (the first time it compiles the kernels, for one to three minutes, and prints nothing)'
	@go build -o nacre ./cmd/nacre
	@./nacre demo

build: web ## the command with the page, as ./nacre
	go build -tags web -o nacre ./cmd/nacre

sbom: build ## what the command is built of, as build/nacre.cdx.json (CycloneDX)
	mkdir -p build
	go run ./scripts/sbom nacre >build/nacre.cdx.json

test: ## what a commit must pass: installs what it needs, then scripts/test.sh
	@scripts/check-tools.sh
	scripts/setup-test.sh
	scripts/test.sh

test-full: ## every step of scripts/test.sh, also those that commits take in turns
	@scripts/check-tools.sh
	scripts/setup-test.sh full
	scripts/test.sh full

bench-peers: ## Nacre in turn with other runtimes; ARGS='-run networks/ -quick' chooses
	@scripts/check-tools.sh
	scripts/bench-peers.sh $(ARGS)

bench-operators: ## every operator in turn with ONNX Runtime; ARGS='-run Conv -quick' chooses
	@scripts/check-tools.sh
	scripts/setup-python.sh
	go run ./bench/walk -out bench/results $(ARGS)

wasm: ## the kernels as a module of WebAssembly
	@scripts/check-tools.sh
	scripts/setup-python.sh
	scripts/wasm.sh

web: ## the page that speaks and looks into models, as build/web
	@scripts/check-tools.sh
	scripts/web.sh

shaders: ## the SPIR-V of the shaders that changed
	@scripts/check-tools.sh
	scripts/shaders.sh

fmt: ## format the Go code
	gofmt -w $$(git ls-files '*.go')

check: ## the quick checks: format, vet, staticcheck
	scripts/test.sh format vet staticcheck

clean: ## what the other targets made, except downloads
	rm -rf nacre build web/built
