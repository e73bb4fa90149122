/** A run of code may have more steps than an answer of a function has room for. */
import { expect, test } from 'vitest';
import { getRun, mostShownSteps } from '../../lib/service/get-run.ts';
import { begun } from './code-house.ts';
import { type Stage, fn } from './staged-code.ts';

const steps = (count: number): Stage => Array.from({ length: count }, (_one, at) => fn(`s${at}`));
const wait = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;

async function shown(stage: Stage) {
  const { home, run } = await begun([stage]);
  await home.settle();
  const answer = await getRun(home.worker, run, true);
  if (answer.kind !== 'found') throw new Error('the run is gone');
  return { labels: answer.run.nodes.map(({ node }) => node.label), omitted: answer.run.nodesOmitted };
}

test('of more steps than are shown, what is open and what was asked for last are, and the rest is counted', async () => {
  const { labels, omitted } = await shown([wait, ...steps(1_200)]);
  expect(labels).toHaveLength(mostShownSteps);
  expect([labels.at(0), labels.at(1), labels.at(-1)]).toEqual(['paid', 's201', 's1199']);
  expect(omitted).toBe(1_201 - mostShownSteps);
});

test('as many steps as are shown are all there', async () => {
  const { labels, omitted } = await shown(steps(mostShownSteps));
  expect([labels.length, labels.at(0), omitted]).toEqual([mostShownSteps, 's0', undefined]);
});
