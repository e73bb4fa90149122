/** The runners of node types that need a worker. This file imports the sandbox and the HTTP client. */
import { type NetworkAccess, publicInternet } from '../egress/destination.ts';
import { runCondition } from './condition/run.ts';
import type { DatabasePorts } from './data-query/aurora.ts';
import { runDataQuery } from './data-query/run.ts';
import { runHttp } from './http/run.ts';
import { runJavascript } from './javascript/run.ts';
import { type LensPorts, runLens } from './lens/run.ts';
import type { Runner } from './runner.ts';
import type { Sandbox } from './sandbox/script.ts';
import { threadSandbox } from './sandbox/thread-sandbox.ts';

export interface RunnerOptions {
  /** which addresses requests may reach; the only way to allow more */
  readonly networkAccess?: NetworkAccess;
  readonly sandbox?: Sandbox;
  /** ports of lens nodes; absent: this worker runs no lens nodes */
  readonly lens?: LensPorts;
  /** ports of `aurora` queries; absent: this worker runs none */
  readonly databases?: DatabasePorts;
  /** memory limit of one script */
  readonly scriptMemoryBytes?: number;
}

export const defaultScriptMemoryBytes = 67_108_864;

/** Create one set per process, because the sandbox keeps a warm thread. */
export function createRunners(options: RunnerOptions = {}): ReadonlyMap<string, Runner> {
  const { networkAccess = publicInternet, sandbox = threadSandbox(), scriptMemoryBytes = defaultScriptMemoryBytes } = options;
  const http = runHttp(networkAccess);
  const all = [
    runCondition(sandbox, scriptMemoryBytes),
    runJavascript(sandbox, scriptMemoryBytes),
    http,
    runDataQuery(http, options.databases),
    ...(options.lens === undefined ? [] : [runLens(options.lens)]),
  ];
  return new Map(all.map((each) => [each.type, each]));
}
