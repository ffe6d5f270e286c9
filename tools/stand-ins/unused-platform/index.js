// chdb loads its library for this platform, which is not installed: registries may lack it, and npm ci then refuses the lock file.
throw new Error(
  `The embedded ClickHouse (chdb) runs on Linux x64 with glibc only, not on ${process.platform}-${process.arch}: set clickhouse.url to a server.`,
);
