KubeletNotReady              container runtime is down,PLEG is not healthy: pleg was last seen active 2h11m37.903364115s ago; threshold is 3m0s
rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
