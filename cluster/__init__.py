"""Playing the pairs of a match on several machines, with Dask distributed.

`venue` is the part in the process that started the match, `worker` the part in the Dask workers, `site_process` the
process on each worker that plays the games. Only `engine` and `worker` import `distributed`.
"""
