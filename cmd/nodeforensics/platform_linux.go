package main

// supported says whether this system has what examining a node needs.
const supported = true
