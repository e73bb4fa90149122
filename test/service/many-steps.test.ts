/** A code run may have more steps than fit in a response. */
import { expect, test } from 'vitest';
import { getRun, maxShownSteps } from '../../lib/service/runs/get-run.ts';
import { startCodeRun } from './code-test-env.ts';
import { type ScriptStage, functionCommand } from './scripted-programs.ts';

const steps = (count: number): ScriptStage => Array.from({ length: count }, (_one, at) => functionCommand(`s${at}`));
const wait = { kind: 'signal-wait', key: 'paid', signal: 'paid', correlation: '17' } as const;

async function shown(stage: ScriptStage) {
  const { env, run } = await startCodeRun([stage]);
  await env.settle();
  const answer = await getRun(env.worker, run, true);
  if (answer.kind !== 'found') throw new Error('the run is gone');
  return { labels: answer.run.nodes.map(({ node }) => node.label), omitted: answer.run.nodesOmitted };
}

test('with too many steps, the open and the latest ones are shown, and the rest is counted', async () => {
  const { labels, omitted } = await shown([wait, ...steps(1_200)]);
  expect(labels).toHaveLength(maxShownSteps);
  expect([labels.at(0), labels.at(1), labels.at(-1)]).toEqual(['paid', 's201', 's1199']);
  expect(omitted).toBe(1_201 - maxShownSteps);
});

test('up to the limit all steps are shown', async () => {
  const { labels, omitted } = await shown(steps(maxShownSteps));
  expect([labels.length, labels.at(0), omitted]).toEqual([maxShownSteps, 's0', undefined]);
});
