/** Deployments over HTTP: what is taken, what is refused in which words, and what the trail says. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { after, iso, minutes } from '../../lib/engine/time.ts';
import type { Manifest } from '../../lib/ports/deployments.ts';
import { bytesOf } from '../artifact/archives.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { type Http, formOf, http, textIn } from './http.ts';

const withKey = async (of: Http = http()): Promise<readonly [Http, string]> => [of, await of.key(['admin'])];
const actionsIn = (api: Http) =>
  [...api.world.audit.entries.values()].map(({ action, resource, result, metadata }) => ({ action, resource, result, metadata }));

const ship = async (api: Http, key: string, id: string): Promise<void> => {
  const { manifest, archive } = await packedDeployment(id);
  const parts = { manifest: JSON.stringify(manifest), artifact: archive };
  expect((await api.call('POST', '/v1/deployments', await formOf(key, parts))).status).toBe(201);
};

test('the response to a manifest has an upload URL, and the uploaded deployment can be activated', async () => {
  const [api, key] = await withKey();
  const { manifest, archive } = await packedDeployment('dep_1');
  const created = await api.call('POST', '/v1/deployments', { key, body: manifest });
  const now = api.world.clock.now();
  expect(created).toMatchObject({
    status: 201,
    headers: { location: '/v1/deployments/dep_1' },
    body: { deploymentId: 'dep_1', status: 'created', upload: { method: 'PUT', expiresAt: iso(after(now, minutes(15))) } },
  });
  expect((await api.call('POST', '/v1/deployments', { key, body: manifest })).status).toBe(200);
  const early = await api.call('POST', '/v1/deployments/dep_1/activate', { key });
  expect([early.status, early.body['code']]).toEqual([409, 'artifact_missing']);
  const { upload } = z.object({ upload: z.object({ url: z.string() }) }).parse(created.body);
  api.world.artifacts.receive(upload.url, archive);
  const activated = await api.call('POST', '/v1/deployments/dep_1/activate', { key });
  expect(activated).toMatchObject({
    status: 200,
    body: { deploymentId: 'dep_1', status: 'active', activatedAt: iso(now), previousDeploymentId: null, revision: 1 },
  });
  expect((await api.call('GET', '/v1/deployments/active', { key })).body).toEqual({
    app: 'default',
    deploymentId: 'dep_1',
    activatedAt: iso(now),
    revision: 1,
  });
  const again = await api.call('POST', '/v1/deployments', { key, body: manifest });
  expect(again.body).toEqual({ deploymentId: 'dep_1', status: 'active', createdAt: iso(now), verifiedAt: iso(now) });
});

test('a manifest and its archive may come in one request, in either order of their parts', async () => {
  const [api, key] = await withKey();
  const { manifest, archive } = await packedDeployment('dep_1');
  const parts = { artifact: archive, manifest: JSON.stringify(manifest) };
  const created = await api.call('POST', '/v1/deployments', await formOf(key, parts));
  expect(created).toMatchObject({ status: 201, body: { status: 'created', verifiedAt: expect.any(String) } });
  expect(created.body).not.toHaveProperty('upload');
  const shown = await api.call('GET', '/v1/deployments/dep_1', { key });
  expect(shown.body).toMatchObject({ files: manifest.files, artifact: manifest.artifact, runtime: 'bundle' });
});

describe('a form is refused', () => {
  test.each<[string, Readonly<Record<string, string | Uint8Array>>, string]>([
    ['without its manifest', { artifact: bytesOf('x') }, 'part_missing'],
    ['without its artifact', { manifest: '{}' }, 'part_missing'],
    ['whose artifact is a text', { manifest: '{}', artifact: 'x' }, 'part_missing'],
    ['with another part', { manifest: '{}', artifact: bytesOf('x'), more: '1' }, 'unknown_key'],
    ['whose manifest is not JSON', { manifest: '{', artifact: bytesOf('x') }, 'not_json'],
  ])('%s', async (_what, parts, code) => {
    const [api, key] = await withKey();
    const answer = await api.call('POST', '/v1/deployments', await formOf(key, parts));
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ code }] } });
  });

  test('that is none', async () => {
    const [api, key] = await withKey();
    for (const contentType of ['multipart/form-data', 'multipart/form-data; boundary=x']) {
      const answer = await api.call('POST', '/v1/deployments', { key, text: 'x', headers: { 'Content-Type': contentType } });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ code: 'not_multipart' }] } });
    }
  });

  test('that is too large, as a whole or in its manifest', async () => {
    const [api, key] = await withKey();
    for (const parts of [
      { manifest: '{}', artifact: new Uint8Array(4_194_304) },
      { manifest: ' '.repeat(262_145), artifact: bytesOf('x') },
    ]) {
      const answer = await api.call('POST', '/v1/deployments', await formOf(key, parts));
      expect([answer.status, answer.body['code']]).toEqual([413, 'payload_too_large']);
    }
  });
});

describe('a manifest is refused', () => {
  const file = { path: 'a.js', sha256: 'ab'.repeat(32), bytes: 1 };
  const v = (version: string) => ({ name: 'a', version });
  const changes: readonly (readonly [string, object, string])[] = [
    ['of another spec', { specVersion: 2 }, '/specVersion'],
    ['of another runtime', { runtime: 'container' }, '/runtime'],
    ['with more than it knows', { color: 'red' }, '/color'],
    ['with a path above', { files: [{ ...file, path: '../a.js' }] }, '/files/0/path'],
    ['with an absolute path', { files: [{ ...file, path: '/a.js' }] }, '/files/0/path'],
    ['with a backslash', { files: [{ ...file, path: 'a\\b.js' }] }, '/files/0/path'],
    ['with a path of 513 bytes', { files: [{ ...file, path: 'x'.repeat(513) }] }, '/files/0/path'],
    ['with one path twice', { files: [file, file] }, '/files'],
    ['with 2,001 files', { files: Array.from({ length: 2_001 }, (_, at) => ({ ...file, path: `${at}` })) }, '/files'],
    ['without files', { files: [] }, '/files'],
    ['with a digest in capitals', { files: [{ ...file, sha256: 'AB'.repeat(32) }] }, '/files/0/sha256'],
    ['with a file of less than nothing', { files: [{ ...file, bytes: -1 }] }, '/files/0/bytes'],
    ['with an artifact of 50 MiB and a byte', { artifact: { sha256: file.sha256, bytes: 52_428_801 } }, '/artifact/bytes'],
    ['with a workflow that has no name', { workflows: [{ name: '' }] }, '/workflows/0/name'],
    ['with one workflow twice', { workflows: [{ name: 'a' }, { name: 'a' }] }, '/workflows'],
    ['with a step of a strange name', { steps: [{ name: 'a b' }] }, '/steps/0/name'],
    ['of bundles with a version', { workflows: [{ name: 'a', version: '1' }] }, '/workflows/0/version'],
    ['of code with one version twice', { runtime: 'code', workflows: [v('1'), v('2'), v('1')] }, '/workflows'],
    ['of code with one workflow twice', { runtime: 'code', workflows: [{ name: 'a' }, { name: 'a' }] }, '/workflows'],
    ['of code with a strange version', { runtime: 'code', workflows: [v('1\na')] }, '/workflows/0/version'],
    ['of code with steps', { runtime: 'code', steps: [{ name: 'a' }] }, '/steps'],
    ['with an id that is a word of the API', { deploymentId: 'active' }, '/deploymentId'],
  ];
  test.each(changes)('%s', async (_what, change, pointer) => {
    const [api, key] = await withKey();
    const { manifest } = await packedDeployment('dep_1');
    const answer = await api.call('POST', '/v1/deployments', { key, body: { ...manifest, ...change } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_manifest', errors: [{ pointer }] } });
  });

  test('of code with several versions has no single version, and the response names them', async () => {
    const [api, key] = await withKey();
    const workflows = [v('1'), v('2'), { name: 'b' }];
    const { manifest } = await packedDeployment('dep_1', { change: { runtime: 'code', workflows } });
    expect(await api.call('POST', '/v1/deployments', { key, body: manifest })).toMatchObject({ status: 201 });
    const shown = await api.call('GET', '/v1/deployments/dep_1', { key });
    expect(shown.body).toMatchObject({ runtime: 'code', workflows });
  });

  test.each(['../x', 'a/b', 'a b', '', 'x'.repeat(129), 7, undefined])(
    'by its id %j, in the words of the document',
    async (id) => {
      const [api, key] = await withKey();
      const { manifest } = await packedDeployment('dep_1');
      const answer = await api.call('POST', '/v1/deployments', { key, body: { ...manifest, deploymentId: id } });
      expect([answer.status, answer.body['code'], answer.body['message']]).toEqual([
        400,
        'invalid_deployment_id',
        'deploymentId must match ^[A-Za-z0-9_-]+$ and cannot contain path separators.',
      ]);
    },
  );

  test('that lies about its digest, or about a file', async () => {
    const [api, key] = await withKey();
    const { manifest, archive } = await packedDeployment('dep_1');
    const send = async (change: Partial<Manifest>) =>
      api.call(
        'POST',
        '/v1/deployments',
        await formOf(key, { manifest: JSON.stringify({ ...manifest, ...change }), artifact: archive }),
      );
    const digest = await send({ artifact: { ...manifest.artifact, sha256: 'ab'.repeat(32) } });
    expect([digest.status, digest.body['code']]).toEqual([409, 'artifact_digest_mismatch']);
    const [first] = manifest.files;
    const path = first?.path ?? '';
    const lie = await send({ files: [{ path, bytes: first?.bytes ?? 0, sha256: 'ab'.repeat(32) }] });
    const errors = [{ pointer: `artifact/${path}`, code: 'file_digest_differs' }];
    expect(lie).toMatchObject({ status: 409, body: { code: 'artifact_invalid', errors } });
    expect((await api.call('GET', '/v1/deployments', { key })).body).toMatchObject({ data: [] });
  });
});

test('before there is an active one, that is said in the words of the document', async () => {
  const [api, key] = await withKey();
  const answer = await api.call('GET', '/v1/deployments/active', { key });
  expect([answer.status, answer.body['code'], answer.body['message']]).toEqual([
    409,
    'no_active_deployment',
    'No active deployment. Activate a deployment before triggering runs.',
  ]);
});

test('deployments are listed newest first, page by page', async () => {
  const [api, key] = await withKey();
  for (const id of ['dep_1', 'dep_2', 'dep_3']) {
    await ship(api, key, id);
    api.world.clock.advance(minutes(1));
  }
  await api.call('POST', '/v1/deployments/dep_2/activate', { key });
  const first = await api.call('GET', '/v1/deployments', { key, query: { limit: '2' } });
  const found = [
    { deploymentId: 'dep_3', status: 'created' },
    { deploymentId: 'dep_2', status: 'active' },
  ];
  expect(first.body).toMatchObject({ data: found, hasMore: true });
  const rest = await api.call('GET', '/v1/deployments', { key, query: { cursor: textIn(first, 'cursor') } });
  expect(rest.body).toMatchObject({ data: [{ deploymentId: 'dep_1' }], hasMore: false, cursor: null });
});

test('the audit trail has the caller and both deployments of a pointer change', async () => {
  const [api, key] = await withKey();
  for (const id of ['dep_1', 'dep_2']) await ship(api, key, id);
  for (const id of ['dep_1', 'dep_2']) await api.call('POST', `/v1/deployments/${id}/activate`, { key });
  expect((await api.call('POST', '/v1/deployments/rollback', { key })).body).toMatchObject({ deploymentId: 'dep_1' });
  await api.call('POST', '/v1/deployments/rollback', { key, body: { deploymentId: 'nothing' } });
  await api.call('DELETE', '/v1/deployments/dep_1', { key });
  await api.call('DELETE', '/v1/deployments/dep_2', { key });
  const trail = actionsIn(api).map(({ action, resource, result, metadata }) => [
    action,
    resource,
    result,
    metadata['revision'],
    metadata['previousDeploymentId'],
  ]);
  expect(trail).toEqual([
    ['deployments.create', 'deployment/dep_1', 'success', undefined, undefined],
    ['deployments.create', 'deployment/dep_2', 'success', undefined, undefined],
    ['deployments.activate', 'deployment/dep_1', 'success', 1, null],
    ['deployments.activate', 'deployment/dep_2', 'success', 2, 'dep_1'],
    ['deployments.rollback', 'deployment/dep_1', 'success', 3, 'dep_2'],
    ['deployments.rollback', 'deployment/nothing', 'failure', undefined, undefined],
    ['deployments.remove', 'deployment/dep_1', 'failure', undefined, undefined],
    ['deployments.remove', 'deployment/dep_2', 'success', undefined, undefined],
  ]);
});
