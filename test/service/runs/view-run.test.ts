/** What a widget shows of a run. */
import { expect, it } from 'vitest';
import { maxViewBytes, maxTemplates, viewRun } from '../../../lib/service/runs/view-run.ts';
import { runId } from '../../../lib/engine/ids.ts';
import { finished, createTestEnv, scope } from '../test-env.ts';
import { definitionOf, largeText, startTestRun } from '../test-run-fixture.ts';

const seen = async (config: Parameters<typeof viewRun>[2], isSettled = true) => {
  const home = createTestEnv({ answer: (node) => finished(node === 'b' ? largeText : node) });
  const policy = { outputVariable: 'made' };
  const run = await startTestRun(
    home,
    definitionOf('draft', 'a>b b>d', { a: { policy }, b: { policy: { outputVariable: 'large' } } }),
    {
      input: { name: 'Ada', tags: ['x', 'y'] },
    },
  );
  if (isSettled) await home.settle();
  return viewRun(home.deps, run, config);
};

it('is its configuration with what the templates find, keys and types kept', async () => {
  const config = { title: 'Hello {{ctx.input.name}}', tags: '{{ctx.input.tags}}', '{{ctx.x}}': [1, null, '{{ctx.nothing}}'] };
  expect(await seen(config)).toEqual({
    kind: 'found',
    view: { title: 'Hello Ada', tags: ['x', 'y'], '{{ctx.x}}': [1, null, null] },
    status: 'completed',
    lastEventId: expect.any(Number),
  });
});

it('is of the run as it is now: what is not there yet is null', async () => {
  expect(await seen('{{ctx.made}}', false)).toMatchObject({ view: null, status: 'pending' });
  expect(await seen('{{ctx.made}}')).toMatchObject({ view: 'a', status: 'completed' });
});

it('loads what is stored apart', async () => {
  expect(await seen(['{{ctx.large}}'])).toMatchObject({ view: [largeText] });
});

it('shows nothing of the system', async () => {
  const config = ['{{ctx.__node_a}}', '{{ctx["__node_a"].status}}', '{{ctx.__rerunOf}}'];
  expect(await seen(config)).toMatchObject({ view: [null, null, null] });
  const all = await seen('{{ctx}}');
  expect(JSON.stringify(all)).not.toContain('__');
  expect(all).toMatchObject({ view: { input: { name: 'Ada' }, made: 'a' } });
});

it('names every template that is none, with its place', async () => {
  expect(await seen({ a: ['{{ctx.x'], b: { c: '{{1 + 1}}' }, d: '{{ctx.ok}}' })).toMatchObject({
    kind: 'refused',
    errors: [
      { pointer: '/config/a/0', code: 'template_invalid' },
      { pointer: '/config/b/c', code: 'template_invalid' },
    ],
  });
});

it('has bounds: on its look-ups, and on its size before it is put together', async () => {
  const many = Array.from({ length: maxTemplates + 1 }, () => '{{ctx.input}}');
  expect(await seen(many)).toMatchObject({ kind: 'refused', errors: [{ pointer: '/config', code: 'too_many_templates' }] });
  const wide = Array.from({ length: Math.ceil(maxViewBytes / largeText.length) }, () => '{{ctx.large}}');
  expect(await seen(wide)).toMatchObject({ kind: 'refused', errors: [{ code: 'view_too_large' }] });
  expect(await seen(wide.slice(2))).toMatchObject({ kind: 'found' });
});

it('of a run that is not there is not there', async () => {
  const run = { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') };
  expect(await viewRun(createTestEnv().deps, run, {})).toEqual({ kind: 'not_found' });
});
