failed to get image stats: rpc error: code = DeadlineExceeded desc = context deadline exceeded
rpc error: code = DeadlineExceeded desc = context deadline exceeded
