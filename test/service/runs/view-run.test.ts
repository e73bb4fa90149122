/** Widgets: configurations whose templates are resolved against a run. */
import { expect, it } from 'vitest';
import { maxViewBytes, maxTemplates, viewRun } from '../../../lib/service/runs/view-run.ts';
import { runId } from '../../../lib/engine/ids.ts';
import { finished, createTestEnv, scope } from '../test-env.ts';
import { definitionOf, largeText, startTestRun } from '../test-run-fixture.ts';

const seen = async (config: Parameters<typeof viewRun>[2], isSettled = true) => {
  const env = createTestEnv({ answer: (node) => finished(node === 'b' ? largeText : node) });
  const policy = { outputVariable: 'made' };
  const run = await startTestRun(
    env,
    definitionOf('draft', 'a>b b>d', { a: { policy }, b: { policy: { outputVariable: 'large' } } }),
    {
      input: { name: 'Ada', tags: ['x', 'y'] },
    },
  );
  if (isSettled) await env.settle();
  return viewRun(env.deps, run, config);
};

it('returns the configuration with resolved templates, and keeps keys and types', async () => {
  const config = { title: 'Hello {{ctx.input.name}}', tags: '{{ctx.input.tags}}', '{{ctx.x}}': [1, null, '{{ctx.nothing}}'] };
  expect(await seen(config)).toEqual({
    kind: 'found',
    view: { title: 'Hello Ada', tags: ['x', 'y'], '{{ctx.x}}': [1, null, null] },
    status: 'completed',
    lastEventId: expect.any(Number),
  });
});

it('uses the current context: missing values are null', async () => {
  expect(await seen('{{ctx.made}}', false)).toMatchObject({ view: null, status: 'pending' });
  expect(await seen('{{ctx.made}}')).toMatchObject({ view: 'a', status: 'completed' });
});

it('loads offloaded payloads', async () => {
  expect(await seen(['{{ctx.large}}'])).toMatchObject({ view: [largeText] });
});

it('hides system values', async () => {
  const config = ['{{ctx.__node_a}}', '{{ctx["__node_a"].status}}', '{{ctx.__rerunOf}}'];
  expect(await seen(config)).toMatchObject({ view: [null, null, null] });
  const all = await seen('{{ctx}}');
  expect(JSON.stringify(all)).not.toContain('__');
  expect(all).toMatchObject({ view: { input: { name: 'Ada' }, made: 'a' } });
});

it('reports every invalid template with its pointer', async () => {
  expect(await seen({ a: ['{{ctx.x'], b: { c: '{{1 + 1}}' }, d: '{{ctx.ok}}' })).toMatchObject({
    kind: 'refused',
    errors: [
      { pointer: '/config/a/0', code: 'template_invalid' },
      { pointer: '/config/b/c', code: 'template_invalid' },
    ],
  });
});

it('limits the lookups, and the size before it resolves templates', async () => {
  const many = Array.from({ length: maxTemplates + 1 }, () => '{{ctx.input}}');
  expect(await seen(many)).toMatchObject({ kind: 'refused', errors: [{ pointer: '/config', code: 'too_many_templates' }] });
  const wide = Array.from({ length: Math.ceil(maxViewBytes / largeText.length) }, () => '{{ctx.large}}');
  expect(await seen(wide)).toMatchObject({ kind: 'refused', errors: [{ code: 'view_too_large' }] });
  expect(await seen(wide.slice(2))).toMatchObject({ kind: 'found' });
});

it('a missing run is not found', async () => {
  const run = { ...scope, runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') };
  expect(await viewRun(createTestEnv().deps, run, {})).toEqual({ kind: 'not_found' });
});
