import { describe, expect, it } from 'vitest';
import { roughWeather } from './faults.ts';
import { seeds } from './seeds.ts';
import { simulate } from './simulation.ts';

describe('random workflows in rough weather', () => {
  it('hold the invariants in 200 seeds, and every fault was injected', async () => {
    const totals = new Map<string, number>();
    let wakes = 0;
    let reads = 0;
    const signals = { given: 0, unmet: 0 };
    for (const seed of seeds(200)) {
      const { counts, woken, signalsGiven, waitsUnmet, eventsRead } = await simulate({ seed, rates: roughWeather });
      wakes += woken;
      reads += eventsRead;
      signals.given += signalsGiven;
      signals.unmet += waitsUnmet;
      for (const [kind, count] of Object.entries(counts)) totals.set(kind, (totals.get(kind) ?? 0) + count);
    }
    for (const [kind, count] of totals) expect(count, `${kind} was never injected`).toBeGreaterThan(100);
    expect(wakes, 'nobody was ever woken early').toBeGreaterThan(20);
    expect(reads, 'hardly anybody read along').toBeGreaterThan(5_000);
    expect(signals.given, 'hardly a signal came').toBeGreaterThan(100);
    expect(signals.unmet, 'hardly a wait was over without one').toBeGreaterThan(50);
  });

  it('give the same world for the same seed, byte for byte', async () => {
    for (const seed of seeds(10)) {
      const [one, other] = [await simulate({ seed, rates: roughWeather }), await simulate({ seed, rates: roughWeather })];
      expect(JSON.stringify(other)).toBe(JSON.stringify(one));
    }
  });
});

describe('budgets in rough weather', () => {
  it('are kept to the attempt and to the token, whoever dies and whatever comes twice', async () => {
    const ended = { executions: 0, tokens: 0 };
    for (const seed of seeds(60)) {
      const [maxNodeExecutions, maxTokens] = [1 + (seed % 12), 5 + (seed % 30)];
      const executions = await simulate({ seed, rates: roughWeather, limits: { budget: { maxNodeExecutions } } });
      const tokens = await simulate({ seed, rates: roughWeather, limits: { budget: { maxTokens } } });
      ended.executions += executions.overBudget;
      ended.tokens += tokens.overBudget;
    }
    expect(ended.executions, 'hardly a run came to its budget of executions').toBeGreaterThan(60);
    expect(ended.tokens, 'hardly a run came to its budget of tokens').toBeGreaterThan(40);
  });
});
