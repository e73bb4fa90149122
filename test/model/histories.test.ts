import { describe, expect, it } from 'vitest';
import { chaosFaults } from '../simulation/faults.ts';
import { seeds } from '../simulation/seeds.ts';
import { type SimulationOptions, simulate } from '../simulation/simulation.ts';
import { ObservedHistory } from './observed-history.ts';
import { inTier } from '../tier.ts';
import { Specification } from './quint.ts';

const specification = new Specification(new URL('../../model/history.qnt', import.meta.url).pathname);

/**
 * A start that is refused, or whose client gives up, can leave a due entry of a run that no head follows. A call that is refused, too, after
 * a look for the run and its log.
 */
const neverExisted = (steps: readonly string[]): boolean =>
  steps.every((step) => actionOf(step) === 'marksDue' || /^reads\(\d+, 1, Set\(\)\)$/.test(step));

/** The first step that the model does not allow; undefined if it allows all of them and the run is finalized or never existed. */
function refusedIn(steps: readonly string[]): string | undefined {
  const walk = specification.walk('history');
  expect(walk.takes('init')).toBe(true);
  const refused = steps.find((step) => !walk.takes(step));
  return refused ?? (walk.holds('isSettled') || neverExisted(steps) ? undefined : 'the end');
}

async function observe(options: SimulationOptions): Promise<readonly (readonly string[])[]> {
  const history = new ObservedHistory();
  await simulate({ ...options, planted: history.landing, observed: history.process });
  return [...history.steps.values()];
}

describe('histories of the simulation', () => {
  it('are such walks where runs start in batches too', async () => {
    for (const seed of seeds(inTier({ quick: 2, deep: 4 }))) {
      const walks = await observe({ seed, rates: chaosFaults, runs: 6, areBatched: true });
      expect(walks.length).toBeGreaterThan(5);
      for (const steps of walks) expect(refusedIn(steps), `seed ${seed}`).toBeUndefined();
    }
  });

  it('are walks that the model allows, step by step', async () => {
    const taken = new Map<string, number>();
    for (const seed of seeds(inTier({ quick: 6, deep: 8 }))) {
      for (const steps of await observe({ seed, rates: chaosFaults, runs: 3 })) {
        expect(refusedIn(steps), `seed ${seed}`).toBeUndefined();
        for (const step of steps) taken.set(actionOf(step), (taken.get(actionOf(step)) ?? 0) + 1);
      }
    }
    for (const action of ['puts', 'lands', 'isRefused', 'receivesResult', 'reads', 'sends', 'marksDue', 'notifies', 'projects']) {
      expect(taken.get(action), `no step is ${action}`).toBeGreaterThan(5);
    }
  });
});

/** The result of a put that another writer won, and the result that a win would have had. */
function refusal(steps: readonly string[]): { readonly at: number; readonly believed: string } | undefined {
  const own = new Map<string, string>();
  for (const [at, step] of steps.entries()) {
    const [, who = '', nonce = ''] = /^(?:puts|receivesResult)\((\d+), (?:.*nonce: )?(\d+)/.exec(step) ?? [];
    if (step.startsWith('puts(')) own.set(who, nonce);
    const asked = own.get(who);
    if (step.startsWith('receivesResult(') && asked !== undefined && asked !== nonce)
      return { at, believed: `receivesResult(${who}, ${asked})` };
  }
  return undefined;
}

/** From the first simulation in which a put was refused. */
async function withRefusal() {
  for (const seed of seeds(20)) {
    for (const steps of await observe({ seed, rates: chaosFaults, runs: 3 })) {
      const found = refusal(steps);
      if (found !== undefined) return [steps, found] as const;
    }
  }
  throw new Error('no put was refused');
}

describe('a manipulated history is rejected', () => {
  const seed = 2;
  const longest = async (): Promise<readonly string[]> =>
    (await observe({ seed, rates: chaosFaults, runs: 3 })).reduce((one, other) => (other.length > one.length ? other : one));
  const first = (steps: readonly string[], pattern: RegExp): number => {
    const found = steps.findIndex((step) => pattern.test(step));
    expect(found, `no step is like ${pattern.source}`).toBeGreaterThan(-1);
    return found;
  };
  const after = (steps: readonly string[], from: number, pattern: RegExp): number =>
    from + 1 + first(steps.slice(from + 1), pattern);

  it('unchanged, it is allowed', async () => {
    expect(refusedIn(await longest())).toBeUndefined();
  });

  it('with a missing commit', async () => {
    const steps = await longest();
    const lost = first(steps, /^lands\(\{ number: 2,/);
    expect(refusedIn(steps.toSpliced(lost, 1))).toBeDefined();
  });

  it('with a commit that is stored twice', async () => {
    const steps = await longest();
    const landed = first(steps, /^lands\(\{ number: 2,/);
    expect(refusedIn(steps.toSpliced(landed, 0, steps[landed] ?? ''))).toBe(steps[landed]);
  });

  it('with a node that completes twice', async () => {
    const steps = await longest();
    const completion = /\{ is: "NODE_COMPLETED", [^}]*\}/.exec(steps[first(steps, /^lands\(.*NODE_COMPLETED/)] ?? '')?.[0] ?? '';
    const last = steps.findLastIndex((step) => step.startsWith('lands'));
    const number = /number: \d+/.exec(steps[last] ?? '')?.[0] ?? '';
    const doubled = steps.map((step) =>
      step.includes(`{ ${number},`) ? step.replace('events: [', `events: [${completion}, `) : step,
    );
    expect(refusedIn(doubled)).toMatch(/^puts\(/);
  });

  it('with an event after the end', async () => {
    const steps = await longest();
    const doubled = steps.map((step) => step.replace(/(\{ is: "RUN_(?:COMPLETED|FAILED|CANCELLED)", [^}]*\})/, '$1, $1'));
    expect(refusedIn(doubled)).toMatch(/^puts\(/);
  });

  it('with a task that continues after a commit of a worker, as if it had the commit by an answer', async () => {
    const walks = await observe({ seed: 2, rates: chaosFaults, runs: 6, areBatched: true });
    const steps = walks.filter((walk) => walk.some((step) => step.includes('"world"')));
    const refused = steps.map((walk) => refusedIn(walk.map((step) => step.replaceAll('"world"', '"worker"'))));
    expect(refused.find((step) => step !== undefined)).toMatch(/^puts\(\d+, "code"/);
  });

  it('with a message sent before its sender knows the commit', async () => {
    const steps = await longest();
    const sent = after(steps, first(steps, /^lands\(\{ number: 2,/), /^sends\(\d+, ".*, 2\)$/);
    const early = [...steps.slice(0, 1), steps[sent] ?? '', ...steps.slice(1)];
    expect(refusedIn(early)).toBe(steps[sent]);
  });

  it('with a start that did not mark the run as due', async () => {
    const steps = await longest();
    const marked = first(steps, /^marksDue\(/);
    expect(refusedIn(steps.toSpliced(marked, 1))).toMatch(/^puts\(\d+, "api", \{ number: 1,/);
  });

  it('with a writer that takes a refusal for a win', async () => {
    const [steps, { at, believed }] = await withRefusal();
    expect(refusedIn(steps.with(at, believed))).toBe(believed);
  });

  it('with a head that receives another end', async () => {
    const steps = await longest();
    const told = steps.findLastIndex((step) => /^projects\(\d+, "RUN_/.test(step));
    const other = (steps[told] ?? '').replace(/RUN_\w+/, (end) => (end === 'RUN_CANCELLED' ? 'RUN_COMPLETED' : 'RUN_CANCELLED'));
    expect(refusedIn(steps.with(told, other))).toBe(other);
  });

  it('with an unfinished run', async () => {
    const steps = await longest();
    expect(refusedIn(steps.filter((step) => !/^projects\(\d+, "RUN_/.test(step)))).toBe('the end');
  });
});

const actionOf = (step: string): string => step.slice(0, step.indexOf('('));
