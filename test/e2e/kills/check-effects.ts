/**
 * Compares external effects with the logs (invariant 12): no effect without a commit that requests its attempt, none missing for
 * a completed node, none long after its attempt has ended, and no more repetitions than faults explain.
 */
import { createHash } from 'node:crypto';
import { stepNodeId } from '../../../lib/engine/durable/step.ts';
import { nodeKey, topLevel } from '../../../lib/engine/ids.ts';
import { runInvariant } from '../../simulation/violation.ts';
import type { CloudTime } from './cloud-time.ts';
import { codeOf } from './code-load.ts';
import { callsEffectServer } from './graphs.ts';
import type { Effect } from './effect-server.ts';
import type { Reading, StoredRun } from './tables.ts';

/** A worker that started before the attempt's end reads the log within this time, also on a busy machine. */
const maxDelayMs = 15_000;

interface Attempt {
  /** how often the log requests it: a retried workflow requests its steps again */
  asked: number;
  /** the first request, by the cloud's clock */
  readonly askedAt: number;
  /** by the cloud's clock */
  endedAt?: number;
  isCompleted: boolean;
  /** by the machine's clock, in order */
  readonly begun: number[];
  /** whether it has an external effect */
  readonly leavesMark: boolean;
}

/** @returns the number of effects that were not the first of their attempt */
export function checkEffects({ runs }: Reading, effects: readonly Effect[], time: CloudTime): number {
  const attempts = new Map<string, Attempt>();
  for (const run of runs.values()) for (const [name, attempt] of attemptsOf(run)) attempts.set(name, attempt);
  const spans = new Map([...attempts.keys()].map((name) => [spanOf(name), name]));
  for (const effect of effects) {
    if (effect.kind === 'undo') continue;
    const { runId, of, attempt, at } = effect;
    const name =
      effect.kind === 'node'
        ? spans.get(attempt)
        : `${runId}/${nodeKey({ nodeId: stepNodeId(of), iteration: topLevel })}/${attempt}`;
    const found = name === undefined ? undefined : attempts.get(name);
    const mayOverlap = codeOf(runs.get(runId))?.isIdempotent === true;
    runInvariant(12, mayOverlap || found !== undefined, `${runId}/${of} started as attempt ${attempt}, which no commit requests`);
    found?.begun.push(at);
  }
  let repeated = 0;
  for (const [name, attempt] of attempts) {
    const { begun, isCompleted, leavesMark, asked, askedAt, endedAt } = attempt;
    repeated += Math.max(0, begun.length - 1);
    runInvariant(12, !isCompleted || !leavesMark || begun.length > 0, `${name} is completed, and has no effect`);
    if (codeOf(runs.get(name.slice(0, name.indexOf('/'))))?.isIdempotent === true) continue;
    const endedReal = endedAt === undefined ? Infinity : time.realOf(endedAt);
    for (const at of begun) runInvariant(12, at < endedReal + maxDelayMs, `${name} started ${at - endedReal} ms after its end`);
    // After a crash or a pause the message is redelivered, and recovery sends another one.
    const askedReal = time.realOf(askedAt);
    const faults = time.faultsBetween(askedReal, begun.at(-1) ?? 0);
    runInvariant(
      12,
      begun.length <= asked + faults,
      `${name} was requested ${asked} times, had ${faults} faults, and started ${begun.length} times: ${begun.map((at) => at - askedReal).join(' and ')} ms after the request, ended after ${endedReal - askedReal} ms, and the last fault was ${time.sinceLastFaultMs(askedReal)} ms before the request`,
    );
  }
  return repeated;
}

function attemptsOf({ address: { runId }, kind, workflowName, commits }: StoredRun): ReadonlyMap<string, Attempt> {
  const attempts = new Map<string, Attempt>();
  const marking = new Set<string>();
  const ask = (node: string, number: number, at: number): void => {
    const name = `${runId}/${node}/${number}`;
    const before = attempts.get(name);
    if (before === undefined)
      attempts.set(name, { asked: 1, askedAt: at, isCompleted: false, begun: [], leavesMark: marking.has(node) });
    else {
      before.asked += 1;
      delete before.endedAt;
    }
  };
  for (const { events, at } of commits) {
    for (const event of events) {
      if (!('nodeId' in event) || !('attempt' in event)) continue;
      const node = nodeKey(event);
      if (event.type === 'NODE_DISPATCHED') {
        const isMarking = kind === 'code' ? event.step?.kind === 'function' : callsEffectServer(workflowName, event.nodeId);
        if (isMarking) marking.add(node);
        ask(node, event.attempt, at);
      }
      if (event.type === 'NODE_RETRIED') ask(node, event.attempt + 1, at);
      if (event.type !== 'NODE_COMPLETED' && event.type !== 'NODE_FAILED' && event.type !== 'NODE_RETRIED') continue;
      const ended = attempts.get(`${runId}/${node}/${event.attempt}`);
      if (ended === undefined) continue;
      ended.endedAt = at;
      ended.isCompleted = event.type === 'NODE_COMPLETED';
    }
  }
  return attempts;
}

/** The id of the attempt's span, as in the worker's `traceparent`: from run, node and attempt. */
const spanOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 16);
