/** The nodes that need a worker, and what they are run with. Heavy: the sandbox and the HTTP client are loaded here. */
import { Unavailable } from '../ports/unavailable.ts';
import { PayloadsNeeded } from '../engine/graph/context.ts';
import type { NodeInput, PlanNode } from '../engine/graph/plan.ts';
import { SliceSpent } from '../engine/shares.ts';
import { storable } from '../engine/graph/storable.ts';
import type { Scope } from '../engine/ids.ts';
import { messageOf } from '../engine/words-of.ts';
import { runCondition } from './condition/run.ts';
import type { DatabaseWorld } from './data-query/aurora.ts';
import type { QueryAnswer } from './data-query/query-answer.ts';
import { runDataQuery } from './data-query/run.ts';
import { type Reach, publicInternet } from './http/destination.ts';
import { runHttp } from './http/run.ts';
import { runJavascript } from './javascript/run.ts';
import { type LensWorld, runLens } from './lens/run.ts';
import { type NodeTools, type RunResult, type Runner, failed } from './runner.ts';
import type { Sandbox } from './sandbox/script.ts';
import { threadSandbox } from './sandbox/thread-sandbox.ts';
import { type SecretAnswer, SecretUse } from './secret-use.ts';

export interface RunnerOptions {
  /** where requests may go; there is no other way to widen it */
  readonly reach?: Reach;
  readonly sandbox?: Sandbox;
  /** what lens nodes ask; absent: this worker runs none */
  readonly lens?: LensWorld;
  /** what queries of the kind `aurora` ask; absent: this worker asks none */
  readonly databases?: DatabaseWorld;
  /** of one script */
  readonly scriptMemoryBytes?: number;
}

const defaultScriptMemoryBytes = 67_108_864;

/** One set per process: the sandbox keeps a warm thread. */
export function createRunners(options: RunnerOptions = {}): ReadonlyMap<string, Runner> {
  const { reach = publicInternet, sandbox = threadSandbox(), scriptMemoryBytes = defaultScriptMemoryBytes } = options;
  const http = runHttp(reach);
  const all = [
    runCondition(sandbox, scriptMemoryBytes),
    runJavascript(sandbox, scriptMemoryBytes),
    http,
    runDataQuery(http, options.databases),
    ...(options.lens === undefined ? [] : [runLens(options.lens)]),
  ];
  return new Map(all.map((each) => [each.type, each]));
}

export type Attempt = (
  node: Pick<PlanNode, 'type' | 'config' | 'policy'>,
  input: NodeInput,
  attempt: Omit<NodeTools, 'timeoutMs' | 'secrets' | 'query'>,
) => Promise<RunResult>;

/** What a project has laid down for its nodes. */
export interface Belongings {
  /** rejects where it cannot be asked at the moment */
  secret(scope: Scope, name: string): Promise<SecretAnswer>;
  /** rejects where it cannot be asked at the moment; the latest version where none is named */
  query(scope: Scope, name: string, version?: number): Promise<QueryAnswer>;
}

const nothing: Belongings = {
  secret: async () => ({ kind: 'not_allowed' }),
  query: async () => ({ kind: 'unknown' }),
};

/** Runs one attempt of a node that is not pure. It rejects as `Runner.run` does, and for nothing else. */
export const attemptsBy =
  (runners: ReadonlyMap<string, Runner>, given: Partial<Belongings> = {}): Attempt =>
  async ({ type, config, policy }, input, attempt) => {
    const known = runners.get(type);
    const belongings = { ...nothing, ...given };
    if (known === undefined) {
      return failed({ cause: 'invalid', code: 'node_type_unknown', message: `this worker runs no nodes of type ${type}` });
    }
    const { scope, signal } = attempt;
    const secrets = new SecretUse((name) => belongings.secret(scope, name));
    const query: NodeTools['query'] = (name, version) => belongings.query(scope, name, version);
    try {
      const { outcome, printed } = await known.run(config, input, { ...attempt, timeoutMs: policy.timeoutMs, secrets, query });
      // Only now is known which secrets it used. They are looked for by recursion, in what is known to be of bounded depth.
      return secrets.mask.result({ outcome: storable(outcome), printed });
    } catch (trouble) {
      if (signal.aborted || trouble instanceof PayloadsNeeded || trouble instanceof SliceSpent || trouble instanceof Unavailable)
        throw trouble;
      // What is said of our own bug may hold what it stumbled over.
      return failed(secrets.mask.failure({ cause: 'internal', code: 'internal', message: messageOf(trouble) }));
    }
  };
