/** The public entry of `stepwell/app-host`. */
export { type AppHost, type AppHostOptions, appHost, diagnosticsPath } from './app-host.ts';
export { type Environment } from './environment.ts';
export { type Hit, type HitCounts, type HitStore, recentMs } from './hit-store.ts';
export { memoryHits } from './memory-hits.ts';
export { type NodeHandler, nodeHandler } from './node-adapter.ts';
export { type OwnershipReport } from './report.ts';
export { RemoteTargetGuardError, enforceRemoteTargetGuard } from './target-guard.ts';
