/** The nodes that need a worker, and what they are run with. Heavy: the sandbox and the HTTP client are loaded here. */
import type { NodeInput, PlanNode } from '../engine/graph/plan.ts';
import { runCondition } from './condition/run.ts';
import { type Reach, publicInternet } from './http/destination.ts';
import { runHttp } from './http/run.ts';
import { runJavascript } from './javascript/run.ts';
import { type LensWorld, runLens } from './lens/run.ts';
import { type NodeTools, type RunResult, type Runner, failed } from './runner.ts';
import type { Sandbox } from './sandbox/script.ts';
import { threadSandbox } from './sandbox/thread-sandbox.ts';

export interface RunnerOptions {
  /** where requests may go; there is no other way to widen it */
  readonly reach?: Reach;
  readonly sandbox?: Sandbox;
  /** what lens nodes ask; absent: this worker runs none */
  readonly lens?: LensWorld;
  /** of one script */
  readonly scriptMemoryBytes?: number;
}

const defaultScriptMemoryBytes = 67_108_864;

/** One set per process: the sandbox keeps a warm thread. */
export function createRunners(options: RunnerOptions = {}): ReadonlyMap<string, Runner> {
  const { reach = publicInternet, sandbox = threadSandbox(), scriptMemoryBytes = defaultScriptMemoryBytes } = options;
  const all = [
    runCondition(sandbox, scriptMemoryBytes),
    runJavascript(sandbox, scriptMemoryBytes),
    runHttp(reach),
    ...(options.lens === undefined ? [] : [runLens(options.lens)]),
  ];
  return new Map(all.map((each) => [each.type, each]));
}

export type Attempt = (
  node: Pick<PlanNode, 'type' | 'config' | 'policy'>,
  input: NodeInput,
  attempt: Omit<NodeTools, 'timeoutMs'>,
) => Promise<RunResult>;

/** Runs one attempt of a node that is not pure. It rejects as `Runner.run` does, and for nothing else. */
export const attemptsBy =
  (runners: ReadonlyMap<string, Runner>): Attempt =>
  async ({ type, config, policy }, input, attempt) => {
    const known = runners.get(type);
    if (known !== undefined) return known.run(config, input, { ...attempt, timeoutMs: policy.timeoutMs });
    return failed({ cause: 'invalid', code: 'node_type_unknown', message: `this worker runs no nodes of type ${type}` });
  };
