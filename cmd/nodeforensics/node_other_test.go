//go:build !linux

package main

func nodeMain() {}
