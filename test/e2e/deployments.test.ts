/** A deployment to the embedded cloud: a manifest, an upload, the active pointer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { packedDeployment } from '../artifact/packed.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud();
});
afterAll(() => cloud.stop());

const created = z.looseObject({
  deploymentId: z.string(),
  upload: z.object({ method: z.string(), url: z.string(), headers: z.record(z.string(), z.string()) }),
});
/** Uploads as the response describes, without credentials of this cloud. */
const put = async ({ upload }: z.output<typeof created>, archive: Uint8Array): Promise<number> => {
  const { url, ...how } = upload;
  const answer = await fetch(url, { ...how, body: Buffer.from(archive) });
  await answer.body?.cancel();
  return answer.status;
};
const ask = async (path: string, body?: object) => {
  const answer = await cloud.call(body === undefined && path.endsWith('active') ? 'GET' : 'POST', path, body);
  return [answer.status, answer.body];
};

describe('an artifact with a separate upload', () => {
  test('is verified, activated, replaced by another, and activated again', async () => {
    for (const id of ['first', 'second']) {
      const { manifest, archive } = await packedDeployment(id);
      const answer = await cloud.call('POST', '/v1/deployments', manifest);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      expect(await put(created.parse(answer.body), archive)).toBe(200);
      expect(await ask(`/v1/deployments/${id}/activate`)).toMatchObject([200, { deploymentId: id, status: 'active' }]);
    }
    expect(await ask('/v1/deployments/rollback')).toMatchObject([200, { deploymentId: 'first', previousDeploymentId: 'second' }]);
    expect(await ask('/v1/deployments/active')).toMatchObject([200, { deploymentId: 'first', revision: 3 }]);
    const removed = await cloud.call('DELETE', '/v1/deployments/second');
    expect([removed.status, removed.body]).toMatchObject([200, { deploymentId: 'second' }]);
    expect((await cloud.call('GET', '/v1/deployments/second')).status).toBe(404);
  });

  test('with other bytes is refused, and the deployment is not activated', async () => {
    const { manifest, archive } = await packedDeployment('lied');
    const { body } = await cloud.call('POST', '/v1/deployments', manifest);
    const other = Buffer.from(archive);
    other.writeUInt8(other.readUInt8(20) ^ 1, 20);
    expect(await put(created.parse(body), other)).toBe(400);
    expect(await ask('/v1/deployments/lied/activate')).toMatchObject([409, { code: 'artifact_missing' }]);
  });

  test('is refused after its expiry, and a new request returns a new URL', async () => {
    const { manifest, archive } = await packedDeployment('late');
    const first = created.parse((await cloud.call('POST', '/v1/deployments', manifest)).body);
    const url = new URL(first.upload.url);
    url.searchParams.set('X-Amz-Date', '20260101T000000Z');
    expect(await put({ ...first, upload: { ...first.upload, url: url.href } }, archive)).toBe(403);
    const again = await cloud.call('POST', '/v1/deployments', manifest);
    expect(again.status).toBe(200);
    expect(await put(created.parse(again.body), archive)).toBe(200);
    expect(await ask('/v1/deployments/late/activate')).toMatchObject([200, { deploymentId: 'late' }]);
  });
});

test('a manifest and its archive in one request need no upload', async () => {
  const { manifest, archive } = await packedDeployment('at-once', { workflows: ['at-once'] });
  const form = new FormData();
  form.append('manifest', JSON.stringify(manifest));
  form.append('artifact', new Blob([Buffer.from(archive)], { type: 'application/gzip' }), 'artifact.tgz');
  const headers = { authorization: `Bearer ${cloud.apiKey}` };
  const answer = await fetch(`${cloud.url}/v1/deployments`, { method: 'POST', headers, body: form });
  expect([answer.status, await answer.json()]).toMatchObject([201, { status: 'created', verifiedAt: expect.any(String) }]);
  expect(await ask('/v1/deployments/at-once/activate')).toMatchObject([200, { status: 'active' }]);
});
