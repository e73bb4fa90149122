import { expect, test } from 'vitest';
import { http, instantGraph, openGraph, textIn } from './http.ts';

test('a workflow is created, gets versions, and is read back as it was published', async () => {
  const api = http();
  const key = await api.key(['workflows:write', 'workflows:read']);
  const created = await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
  expect([created.status, created.headers['location']]).toEqual([201, '/v1/workflows/flow']);
  expect(created.body).toEqual({ name: 'flow', version: 1, createdAt: '2026-01-01T00:00:00.000Z', warnings: [] });

  const published = await api.call('POST', '/v1/workflows/flow/versions', { key, body: openGraph });
  expect([published.status, published.headers['location']]).toEqual([201, '/v1/workflows/flow?version=2']);

  const latest = await api.call('GET', '/v1/workflows/flow', { key });
  expect(latest.body).toMatchObject({ name: 'flow', version: 2, latestVersion: 2, edges: openGraph.edges });
  const first = await api.call('GET', '/v1/workflows/flow', { key, query: { version: '1' } });
  expect(first.body).toMatchObject({ version: 1, latestVersion: 2, edges: instantGraph().edges });
  const none = await api.call('GET', '/v1/workflows/flow', { key, query: { version: '3' } });
  expect([none.status, none.body['code']]).toEqual([404, 'not_found']);
});

test('snake_case spellings are stored in the one spelling', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const { nodes } = openGraph;
  const edges = [
    { source: 'start', target: 'work', target_param_label: 'x', source_output_key: 'started', merge_strategy: 'array' },
    { source: 'work', target: 'end', source_handle: 'success' },
  ];
  const body = { name: 'flow', nodes, edges, options: { deadline_seconds: 60 } };
  expect((await api.call('POST', '/v1/workflows', { key, body })).status).toBe(201);
  expect((await api.call('GET', '/v1/workflows/flow', { key })).body).toMatchObject({
    edges: [{ targetParamLabel: 'x', sourceOutputKey: 'started', mergeStrategy: 'array' }, { sourceHandle: 'success' }],
    options: { deadlineSeconds: 60 },
  });
});

test('a list brings the definitions where they are asked for, and a full page ends early', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const options = { deadlineSeconds: 60, budget: { maxNodeExecutions: 5 }, maxConcurrentRuns: 2, args: [] };
  // Stored compressed, so a large text is accepted; two of them exceed a page.
  const large = { id: 'work', type: 'javascript', config: { code: `return 1 // ${'x'.repeat(250_000)}` } };
  const nodes = Array.from({ length: 10 }, (_, index) => ({ ...large, id: `work${index}` }));
  for (const name of ['a', 'b', 'c']) await api.call('POST', '/v1/workflows', { key, body: { name, nodes, options } });
  const list = (query: Readonly<Record<string, string>>) => api.call('GET', '/v1/workflows', { key, query });
  const plain = (await list({})).body['data'];
  expect(plain).toMatchObject([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
  expect(JSON.stringify(plain)).not.toContain('definition');
  const first = await list({ include: 'definition' });
  expect(first.body).toMatchObject({
    data: [{ name: 'a', latestVersion: 1, definition: { version: 1, nodes, options } }],
    hasMore: true,
  });
  const rest = (await list({ include: 'definition', cursor: textIn(first, 'cursor'), limit: '1' })).body;
  expect(rest).toMatchObject({ data: [{ name: 'b' }], hasMore: true });
  expect((await api.call('GET', '/v1/workflows/a', { key })).body).toMatchObject({ options });
});

test('the names of both documents are accepted', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const nodes = [
    { id: 'end', type: 'end', ordinal: 2, label: null },
    { id: 'blurb', lens_id: 'product-blurb', version_id: '3', ordinal: 1, label: null, config: { timeout_ms: 250 } },
  ];
  const edges = [{ source_node_id: 'blurb', target_node_id: 'end' }];
  const body = { title: 'blurbs', nodes, edges, workflowOptions: { deadlineSeconds: 60 } };
  expect((await api.call('POST', '/v1/workflows', { key, body })).status).toBe(201);
  expect((await api.call('GET', '/v1/workflows/blurbs', { key })).body).toMatchObject({
    name: 'blurbs',
    nodes: [
      { id: 'blurb', type: 'lens', config: { lens: 'product-blurb', version: 3, timeout_ms: 250 } },
      { id: 'end', type: 'end' },
    ],
    options: { deadlineSeconds: 60 },
  });
  const wrong = { ...body, title: 'a title', name: 'blurbs' };
  expect((await api.call('POST', '/v1/workflows/validate', { key, body: wrong })).status).toBe(400);
});

test('publishing warns about a join that runs after a handled failure', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const nodes = [
    { id: 'start', type: 'start' },
    ...['reserve', 'charge'].map((id) => ({ id, type: 'javascript', config: { code: 'return 1' } })),
    { id: 'approval', type: 'signal', config: { name: 'approved' } },
    { id: 'refused', type: 'end', config: { status: 'error' } },
  ];
  const edges = [
    ...['reserve', 'charge'].flatMap((id) => [
      { source: 'start', target: id },
      { source: id, target: 'approval' },
    ]),
    { source: 'charge', target: 'refused', sourceHandle: 'error' },
  ];
  const published = await api.call('POST', '/v1/workflows', { key, body: { name: 'orders', nodes, edges } });
  expect(published.body).toMatchObject({ warnings: [{ code: 'join_runs_after_failure', pointer: '/nodes/3' }] });
  const fixed = nodes.map((node) => (node.id === 'refused' ? { ...node, config: { status: 'error', endsRun: true } } : node));
  expect((await api.call('POST', '/v1/workflows/validate', { key, body: { nodes: fixed, edges } })).body).toEqual({
    valid: true,
    findings: [],
  });
});

test('validation publishes nothing and reports every finding', async () => {
  const api = http();
  const key = await api.key(['workflows:read']);
  const body = { nodes: openGraph.nodes, edges: [...openGraph.edges, { source: 'end', target: 'ghost' }] };
  const judged = await api.call('POST', '/v1/workflows/validate', { key, body });
  expect(judged.body).toMatchObject({
    valid: false,
    findings: [
      { code: 'orphan_target', pointer: '/edges/2/target' },
      { code: 'unknown_handle', pointer: '/edges/2' },
    ],
  });
  expect((await api.call('POST', '/v1/workflows/validate', { key, body: openGraph })).body).toEqual({
    valid: true,
    findings: [],
  });
  expect((await api.call('GET', '/v1/workflows', { key })).body).toMatchObject({ data: [] });
  expect(api.world.audit.entries.size).toBe(0);
});

test('a list has the names that begin with a text, page by page, and its cursor belongs to that text', async () => {
  const api = http();
  const key = await api.key(['admin']);
  for (const name of ['invoice', 'in.1', 'Invoice', 'in', 'order'])
    await api.call('POST', '/v1/workflows', { key, body: { name, ...instantGraph() } });
  const list = (query: Readonly<Record<string, string>>) => api.call('GET', '/v1/workflows', { key, query });
  const first = await list({ prefix: 'in', limit: '2' });
  expect(first.body).toMatchObject({ data: [{ name: 'in' }, { name: 'in.1' }], hasMore: true });
  const cursor = textIn(first, 'cursor');
  expect((await list({ prefix: 'in', cursor })).body).toMatchObject({ data: [{ name: 'invoice' }], hasMore: false });
  for (const query of [{ cursor }, { cursor, prefix: 'inv' }])
    expect((await list(query)).body).toMatchObject({ code: 'cursor_invalid' });
  for (const prefix of ['', 'a b', 'ü', '~', '.x', 'x'.repeat(129)])
    expect((await list({ prefix })).body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: 'query/prefix' }] });
  expect((await list({ prefix: 'zz' })).body).toEqual({ data: [], cursor: null, hasMore: false });
});

test('an archived workflow is hidden and readable; archiving again keeps the first time', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
  const archived = await api.call('DELETE', '/v1/workflows/flow', { key });
  expect(archived.body).toEqual({ name: 'flow', archivedAt: '2026-01-01T00:00:00.000Z' });
  api.world.clock.set(api.world.clock.now());
  expect((await api.call('DELETE', '/v1/workflows/flow', { key })).body).toEqual(archived.body);
  expect((await api.call('GET', '/v1/workflows', { key })).body).toMatchObject({ data: [] });
  expect((await api.call('GET', '/v1/workflows', { key, query: { archived: 'true' } })).body).toMatchObject({
    data: [{ name: 'flow', archivedAt: archived.body['archivedAt'] }],
  });
  expect((await api.call('GET', '/v1/workflows/flow', { key })).status).toBe(200);
});

const runOf = { workflowName: 'flow' };
test('the advice that an archived workflow is refused with works: its next version takes runs again', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const start = (idempotencyKey: string) =>
    api.call('POST', '/v1/runs', { key, body: runOf, headers: { 'Idempotency-Key': idempotencyKey } });
  const body = { name: 'flow', ...instantGraph() };
  await api.call('POST', '/v1/workflows', { key, body });
  const open = await start('before');
  await api.call('DELETE', '/v1/workflows/flow', { key });
  const refused = await start('while archived');
  expect(refused).toMatchObject({ status: 409, body: { code: 'workflow_archived' } });
  expect((await api.call('POST', '/v1/workflows', { key, body })).body).toMatchObject({
    code: 'workflow_exists',
    recovery: expect.stringContaining('POST /v1/workflows/{name}/versions'),
  });

  const [method = '', path = ''] = /(POST) (\S+)\.$/.exec(textIn(refused, 'recovery'))?.slice(1) ?? [];
  const published = await api.call(method, path.replace('{name}', 'flow'), { key, body: openGraph });
  expect(published).toMatchObject({ status: 201, body: { version: 2, unarchived: true } });
  expect([...api.world.audit.entries.values()].find(({ action }) => action === 'workflows.publish')).toMatchObject({
    result: 'success',
    metadata: { version: 2, unarchived: true },
  });
  expect((await api.call('GET', '/v1/workflows/flow', { key })).body).not.toHaveProperty('archivedAt');
  expect((await api.call('GET', '/v1/workflows', { key })).body).toMatchObject({ data: [{ name: 'flow', latestVersion: 2 }] });
  expect((await api.call('GET', '/v1/workflows/flow', { key, query: { version: '1' } })).body).toMatchObject({ version: 1 });
  const again = await start('after');
  expect(again.status).toBe(202);
  for (const [run, version] of [
    [open, 1],
    [again, 2],
  ] as const)
    expect((await api.call('GET', `/v1/runs/${textIn(run, 'runId')}`, { key })).body).toMatchObject({
      workflowName: 'flow',
      workflowVersion: version,
    });
  expect((await api.call('POST', '/v1/workflows/flow/versions', { key, body: openGraph })).body).not.toHaveProperty('unarchived');
});

test('a list continues at its cursor, and a cursor is valid for its filters only', async () => {
  const api = http();
  const key = await api.key(['admin']);
  for (const name of ['c', 'a', 'b']) await api.call('POST', '/v1/workflows', { key, body: { name, ...instantGraph() } });
  const names: unknown[] = [];
  let cursor: unknown;
  do {
    const query = { limit: '2', ...(typeof cursor === 'string' ? { cursor } : {}) };
    const { body } = await api.call('GET', '/v1/workflows', { key, query });
    names.push(body['data']);
    cursor = body['cursor'];
  } while (cursor !== null);
  expect(names).toMatchObject([[{ name: 'a' }, { name: 'b' }], [{ name: 'c' }]]);
  const found = await api.call('GET', '/v1/workflows', { key, query: { limit: '2' } });
  const other = { limit: '2', archived: 'true', cursor: textIn(found, 'cursor') };
  expect((await api.call('GET', '/v1/workflows', { key, query: other })).body).toMatchObject({ code: 'cursor_invalid' });
});

test('a version whose summary was never written is completed by the next to publish under its name', async () => {
  const api = http((world) => {
    let isDead = true;
    return {
      workflows: new Proxy(world.workflows, {
        get: (target, name) => {
          if (name === 'advance' && isDead) return () => ((isDead = false), Promise.reject(new Error('the function died')));
          const held: unknown = Reflect.get(target, name);
          return typeof held === 'function' ? held.bind(target) : held;
        },
      }),
    };
  });
  const key = await api.key(['admin']);
  const body = { name: 'flow', ...instantGraph() };
  expect((await api.call('POST', '/v1/workflows', { key, body })).status).toBe(500);
  expect((await api.call('GET', '/v1/workflows/flow', { key })).status).toBe(404);
  expect((await api.call('POST', '/v1/workflows', { key, body })).body).toMatchObject({ code: 'workflow_exists' });
  expect((await api.call('GET', '/v1/workflows/flow', { key })).body).toMatchObject({ version: 1 });
});

test('the path and the document must name the same workflow', async () => {
  const api = http();
  const key = await api.key(['admin']);
  await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
  const publish = (name: string) => api.call('POST', '/v1/workflows/flow/versions', { key, body: { name, ...openGraph } });
  expect((await publish('flow')).status).toBe(201);
  expect((await publish('other')).body).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/name' }] });
});

test('a publication names the version that it is based on, and a conflict names the newest one', async () => {
  const api = http();
  const key = await api.key(['workflows:write', 'workflows:read']);
  const author = `key:${key.split('_')[2]}`;
  const at = '2026-01-01T00:00:00.000Z';
  const publish = (more: object) => api.call('POST', '/v1/workflows/flow/versions', { key, body: { ...openGraph, ...more } });
  const create = (more: object) => api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...openGraph, ...more } });
  expect((await create({ basedOn: null, note: 'first' })).status).toBe(201);
  const again = await create({ basedOn: null });
  expect([again.status, again.body['code'], again.body['current']]).toEqual([
    409,
    'version_conflict',
    { version: 1, at, by: author },
  ]);
  expect((await publish({ basedOn: 1, note: 'second' })).body).toMatchObject({ version: 2 });
  expect((await publish({ basedOn: 1 })).body).toMatchObject({ code: 'version_conflict', current: { version: 2 } });
  expect((await publish({})).body).toMatchObject({ version: 3 });
  const list = (query: Readonly<Record<string, string>>) => api.call('GET', '/v1/workflows/flow/versions', { key, query });
  const first = await list({ limit: '2' });
  expect(first.body).toMatchObject({
    data: [
      { version: 3, createdAt: at, createdBy: author },
      { version: 2, createdAt: at, createdBy: author, note: 'second' },
    ],
    hasMore: true,
  });
  const rest = await list({ limit: '2', cursor: textIn(first, 'cursor') });
  expect(rest.body).toMatchObject({ data: [{ version: 1, note: 'first' }], cursor: null, hasMore: false });
  expect((await list({ cursor: 'made-up' })).body).toMatchObject({ code: 'cursor_invalid' });
});

test.each([
  ['/v1/workflows', { name: 'flow', basedOn: 1 }, '/basedOn'],
  ['/v1/workflows/flow/versions', { basedOn: 0 }, '/basedOn'],
  ['/v1/workflows/flow/versions', { basedOn: '1' }, '/basedOn'],
  ['/v1/workflows/flow/versions', { note: 'x'.repeat(501) }, '/note'],
  ['/v1/workflows/flow/versions', { draftRevision: 0 }, '/draftRevision'],
])('%s with %j is refused at its pointer', async (path, more, pointer) => {
  const api = http();
  const { body } = await api.call('POST', path, { key: await api.key(['admin']), body: { ...openGraph, ...more } });
  expect(body).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
});
