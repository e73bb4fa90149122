/** The public entry of `stepwell/app-host`. */
export { type AppHost, type AppHostOptions, appHost, diagnosticsPath } from './app-host.ts';
export { type Environment, RemoteTargetGuardError, enforceRemoteTargetGuard } from './environment.ts';
export { type Hit, type HitCounts, type HitStore, memoryHits, recentMs } from './hit-store.ts';
export { type NodeHandler, nodeHandler } from './node-adapter.ts';
export { type OwnershipReport } from './report.ts';
