/** Tables of hostile workflows: for each the expected end, its cause, and its time limit. */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { printedLimits } from '../../lib/engine/log/event-limits.ts';
import { inTier } from '../tier.ts';
import type { HostileWorkflow, Outcome, WorkflowRunner } from './run-workflow.ts';

export interface Expected {
  /** how the run ends; `publish` or `start`: the API refuses the workflow or its start */
  readonly ends: 'completed' | 'failed' | 'publish' | 'start';
  /** of the run's failure, or of the refusal */
  readonly code?: string;
  readonly cause?: string;
  /** codes of findings or faults that the refusal names */
  readonly findings?: readonly string[];
  readonly output?: JsonValue;
  /** a part of the message */
  readonly messagePart?: string;
}

export interface Scenario extends HostileWorkflow {
  readonly name: string;
  readonly expected: Expected;
  /** time limit: four times the duration on a busy machine with two cores */
  readonly withinMs: number;
  /** takes seconds: only the deep tier runs it */
  readonly isSlow?: true;
}

/** Far above the duration of any scenario, and below the minutes that a hang takes. */
const defaultWithinMs = 6_000;

/** For scripts that reach no other limit. */
const shortTimeoutMs = 250;
/** For scripts that must reach another limit before their time limit, also on a busy machine. */
export const longTimeout = { config: { timeoutMs: 20_000 }, withinMs: 25_000 } as const;

/** A workflow of one script, and its expected end. Its run's output is the script's. */
export const script = (
  name: string,
  code: string,
  expected: Expected,
  more: { readonly input?: JsonObject; readonly config?: JsonObject; readonly withinMs?: number } = {},
): Scenario => ({
  name,
  workflow: scripted(code, expected.code === 'script_timeout' ? { timeoutMs: shortTimeoutMs, ...more.config } : more.config),
  ...(more.input === undefined ? {} : { input: more.input }),
  expected,
  withinMs: more.withinMs ?? defaultWithinMs,
});

const scripted = (code: string, config: JsonObject = {}): JsonObject => ({
  name: 'hostile',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 's', type: 'javascript', config: { code, retry: { attempts: 1 }, timeoutMs: 1_000, ...config } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'got', sourceVariable: '{{ctx.jsResult}}' }] } },
  ],
  edges: [
    { source: 'start', target: 's' },
    { source: 's', target: 'end' },
  ],
});

/** A chain of nodes after a start. */
export const chain = (...nodes: readonly JsonObject[]): JsonObject => ({
  name: 'hostile',
  nodes: [{ id: 'start', type: 'start' }, ...nodes],
  edges: nodes.map((node, at) => ({ source: nodes[at - 1]?.['id'] ?? 'start', target: node['id'] ?? '' })),
});

/** Parallel nodes after a start. */
export const beside = (nodes: readonly JsonObject[]): JsonObject => ({
  name: 'hostile',
  nodes: [{ id: 'start', type: 'start' }, ...nodes],
  edges: nodes.map((node) => ({ source: 'start', target: node['id'] ?? '' })),
});

export const definition = (name: string, workflow: JsonObject, expected: Expected, more: Partial<Scenario> = {}): Scenario => ({
  name,
  workflow,
  expected,
  withinMs: defaultWithinMs,
  ...more,
});

export const failedBy = (code: string, cause: string, messagePart?: string): Expected => ({
  ends: 'failed',
  code,
  cause,
  ...(messagePart === undefined ? {} : { messagePart }),
});
export const returns = (got: JsonValue): Expected => ({ ends: 'completed', output: { got } });
export const completes: Expected = { ends: 'completed' };
export const refusedWith = (...findings: readonly string[]): Expected => ({
  ends: 'publish',
  code: 'definition_invalid',
  findings,
});

export function checkScenarios(name: string, runner: WorkflowRunner, scenarios: readonly Scenario[]): void {
  const ofTier = scenarios.filter(({ isSlow = false }) => isSlow === inTier({ quick: false, deep: true }));
  // A suite without tests would fail.
  if (ofTier.length === 0) return;
  describe(name, () => {
    it.each(ofTier.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
      const outcome = await runner.run(scenario);
      expect(shownOf(outcome)).toMatchObject(expectedOf(scenario.expected));
      expectBounds(outcome);
      expect(outcome.tookMs).toBeLessThan(scenario.withinMs);
    });
  });
}

const shownOf = ({ at, status, code, cause, message, output, body }: Outcome) => ({
  ends: at === 'ended' ? status : at,
  code,
  cause,
  message,
  output,
  found: codesIn(body),
});

const expectedOf = ({ ends, code, cause, findings, output, messagePart }: Expected): object => ({
  ends,
  ...(code === undefined ? {} : { code }),
  ...(cause === undefined ? {} : { cause }),
  ...(output === undefined ? {} : { output }),
  ...(messagePart === undefined ? {} : { message: expect.stringContaining(messagePart) }),
  ...(findings === undefined ? {} : { found: expect.arrayContaining([...findings]) }),
});

const codesIn = (body: JsonObject): readonly string[] =>
  [...JSON.stringify(body).matchAll(/"code":"([a-z_]+)"/g)].map(([, code = '']) => code);

/** Bounds of every run. */
function expectBounds({ events, at, code, cause }: Outcome): void {
  // A refusal names an error of the caller, and a failure has a cause outside the product.
  expect([code, cause]).not.toContain('internal');
  if (at !== 'ended') return;
  for (const event of events) {
    if (!('printed' in event) || event.printed === undefined) continue;
    expect(event.printed.length).toBeLessThanOrEqual(printedLimits.lines);
    expect(Buffer.byteLength(event.printed.join(''))).toBeLessThanOrEqual(printedLimits.bytes);
  }
}
