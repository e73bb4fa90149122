/** The runners of node types that need a worker. This file imports the sandbox and the HTTP client. */
import { Unavailable } from '../ports/unavailable.ts';
import { PayloadsNeeded } from '../engine/graph/context.ts';
import type { NodeInput, PlanNode } from '../engine/graph/plan.ts';
import { TimeSliceExceeded } from '../engine/fair-shares.ts';
import { storableOutcome } from '../engine/graph/storable-outcome.ts';
import type { Scope } from '../engine/ids.ts';
import { errorMessage } from '../engine/error-text.ts';
import { runCondition } from './condition/run.ts';
import type { DatabasePorts } from './data-query/aurora.ts';
import type { QueryLookup } from './data-query/query-lookup.ts';
import { runDataQuery } from './data-query/run.ts';
import { type NetworkAccess, publicInternet } from './http/destination.ts';
import { runHttp } from './http/run.ts';
import { runJavascript } from './javascript/run.ts';
import { type LensPorts, runLens } from './lens/run.ts';
import { type NodeTools, type RunResult, type Runner, failed } from './runner.ts';
import type { Sandbox } from './sandbox/script.ts';
import { threadSandbox } from './sandbox/thread-sandbox.ts';
import { type SecretLookup, SecretUse } from './secret-use.ts';

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

export type AttemptRunner = (
  node: Pick<PlanNode, 'type' | 'config' | 'policy'>,
  input: NodeInput,
  attempt: Omit<NodeTools, 'timeoutMs' | 'secrets' | 'query'>,
) => Promise<RunResult>;

/** The secrets and queries of a project. */
export interface ProjectResources {
  /** rejects when secrets cannot be read now */
  secret(scope: Scope, name: string): Promise<SecretLookup>;
  /** rejects when queries cannot be read now; without `version`, the latest version */
  query(scope: Scope, name: string, version?: number): Promise<QueryLookup>;
}

const noResources: ProjectResources = {
  secret: async () => ({ kind: 'not_allowed' }),
  query: async () => ({ kind: 'unknown' }),
};

/** Runs one attempt of a node that is not pure. Rejects only for the reasons of `Runner.run`. */
export const createAttemptRunner =
  (runners: ReadonlyMap<string, Runner>, overrides: Partial<ProjectResources> = {}): AttemptRunner =>
  async ({ type, config, policy }, input, attempt) => {
    const nodeRunner = runners.get(type);
    const resources = { ...noResources, ...overrides };
    if (nodeRunner === undefined) {
      return failed({ cause: 'invalid', code: 'node_type_unknown', message: `this worker cannot run nodes of type ${type}` });
    }
    const { scope, signal } = attempt;
    const secrets = new SecretUse((name) => resources.secret(scope, name));
    const query: NodeTools['query'] = (name, version) => resources.query(scope, name, version);
    try {
      const { outcome, printed } = await nodeRunner.run(config, input, {
        ...attempt,
        timeoutMs: policy.timeoutMs,
        secrets,
        query,
      });
      // The used secrets are known only now. Masking recurses, so the outcome is first limited in depth.
      return secrets.mask.result({ outcome: storableOutcome(outcome), printed });
    } catch (error) {
      if (signal.aborted || error instanceof PayloadsNeeded || error instanceof TimeSliceExceeded || error instanceof Unavailable)
        throw error;
      // The message of an internal error may contain a secret.
      return failed(secrets.mask.failure({ cause: 'internal', code: 'internal', message: errorMessage(error) }));
    }
  };
