//go:build !linux

package main

import "testing"

func benchmarkLiveMemory(b *testing.B) { b.Skip("examining a node needs Linux") }
