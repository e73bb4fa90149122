/**
 * A client that reruns failed code runs from a step. It repeats its request until it gets a response. The new run must begin with the
 * steps that completed before that step, and must execute that step again and none of the others.
 */
import { stepNodeId } from '../../lib/engine/durable/step.ts';
import { type RunAddress, type RunId, firstCommit } from '../../lib/engine/ids.ts';
import { rerunOf } from '../../lib/engine/log/lineage.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import type { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import type { SimulationContext } from './process.ts';
import { runInvariant } from './violation.ts';

const repeatMs = 20_000;

interface Steps {
  /** by node id: the output of the completed step, as JSON */
  readonly completed: Map<string, string>;
  readonly executed: Set<string>;
}

export class RerunClient {
  readonly #around: SimulationContext;
  readonly #functions: Functions;
  readonly #checker: Checker;
  readonly #from: string;
  readonly #steps = new Map<RunId, Steps>();
  /** by rerun: its source */
  readonly #sources = new Map<RunId, RunId>();
  /** reruns that were requested, each perhaps several times */
  #requested = 0;

  constructor(around: SimulationContext, functions: Functions, checker: Checker, from: string) {
    this.#around = around;
    this.#functions = functions;
    this.#checker = checker;
    this.#from = from;
  }

  committed(run: RunAddress, commit: Commit): void {
    const { number, events } = commit;
    const source = number === firstCommit ? rerunOf({ commit }) : undefined;
    if (source !== undefined) this.#sources.set(run.runId, source);
    const steps = this.#steps.get(run.runId) ?? { completed: new Map<string, string>(), executed: new Set<string>() };
    this.#steps.set(run.runId, steps);
    for (const event of events) {
      if (event.type === 'NODE_COMPLETED') steps.completed.set(event.nodeId, JSON.stringify(event.output));
      // The step function of a copied step does not run: its beginning and its end are in one commit.
      if (event.type === 'NODE_DISPATCHED' && !events.some((each) => isEndOf(each, event.nodeId)))
        steps.executed.add(event.nodeId);
      if (event.type === 'RUN_FAILED' && !this.#sources.has(run.runId)) this.#rerunSoon(run);
    }
  }

  #rerunSoon(sourceRun: RunAddress): void {
    const key = `rerun-${sourceRun.runId}`;
    this.#requested += 1;
    let isAnswered = false;
    const attempt = (): void => {
      this.#functions.invoke('api', async (decider) => {
        const request = { sourceRun, idempotencyKey: key, bodyHash: key, from: this.#from, input: null };
        const answer = await rerunRun(decider, request);
        runInvariant(9, answer.kind === 'started', `the rerun of ${sourceRun.runId} was answered ${answer.kind}`);
        isAnswered = true;
        this.#checker.acknowledge({ ...sourceRun, runId: answer.runId });
      });
      this.#around.time.in(repeatMs, () => (isAnswered ? undefined : attempt()));
    };
    this.#around.time.in(1, attempt);
  }

  check(): void {
    const chosen = stepNodeId(this.#from);
    const { size } = this.#sources;
    runInvariant(9, size === this.#requested, `${this.#requested} reruns were requested, and ${size} exist`);
    for (const [runId, source] of this.#sources) {
      const [before, now] = [this.#steps.get(source), this.#steps.get(runId)];
      runInvariant(9, now?.executed.has(chosen) === true, `${runId} did not execute ${this.#from} again`);
      for (const [nodeId, output] of before?.completed ?? []) {
        if (nodeId.startsWith('.')) continue;
        runInvariant(12, !now.executed.has(nodeId), `${runId} executed ${nodeId} again, which its source had completed`);
        runInvariant(6, now.completed.get(nodeId) === output, `${runId} has another result of ${nodeId} than its source`);
      }
    }
  }
}

const isEndOf = (event: Commit['events'][number], nodeId: string): boolean =>
  (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED') && event.nodeId === nodeId;
