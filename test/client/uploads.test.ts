/** Artifact uploads: with the manifest in a form, or to a presigned address. */
import { expect, test } from 'vitest';
import { createDeploymentBody } from '../../lib/api/schemas/deployments.ts';
import { ComputeClientError, StepwellClient } from '../../lib/client/index.ts';
import { fetchOf } from './in-process.ts';
import { networkError, createTestClient, errorResponse } from './test-client.ts';
import { formOf, http } from '../functions/http.ts';
import { packedDeployment } from '../artifact/packed.ts';

const archive = new Uint8Array([1, 2, 3]);
const headers = { 'content-length': '3', 'x-amz-checksum-sha256': 'abc=' };
const upload = { method: 'PUT', url: 'https://api.example.com/prod/object?signature=secret', headers };

test('a manifest with its archive is sent as one form', async () => {
  const api = http();
  const apiKey = await api.key(['deploy:write', 'deploy:read']);
  const { manifest, archive: packed } = await packedDeployment('one');
  const client = new StepwellClient({
    baseUrl: 'https://api.example.com',
    apiKey,
    fetchImpl: async (url, init) => {
      const { body, headers: sent } = init;
      if (!(body instanceof FormData)) return fetchOf(api)(url, init);
      // fetch sets the content type of the form, with its boundary.
      expect(new Headers(sent).has('content-type')).toBe(false);
      const parts: Record<string, string | Uint8Array> = {};
      for (const [name, part] of body) parts[name] = typeof part === 'string' ? part : new Uint8Array(await part.arrayBuffer());
      const answer = await api.call('POST', new URL(url).pathname, await formOf(apiKey, parts));
      return Response.json(answer.body, { status: answer.status });
    },
  });
  const created = await client.createDeployment(createDeploymentBody.parse(manifest), { artifact: new Uint8Array(packed) });
  expect(created).toMatchObject({ deploymentId: 'one', status: 'created', verifiedAt: expect.any(String) });
  expect(created.upload).toBeUndefined();
  expect(await client.activateDeployment('one')).toMatchObject({ status: 'active' });
  expect(await client.getDeployment('one')).toMatchObject({ deploymentId: 'one', status: 'active' });
});

test('an upload sends the bytes with the signed headers, and never the key', async () => {
  const { client, sent, runToEnd } = createTestClient([() => new Response(null, { status: 200 })]);
  await runToEnd(client.uploadArtifact(upload, archive));
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({ method: 'PUT', path: '/object?signature=secret' });
  expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual(headers);
});

test.each([
  ['a network error', networkError],
  ['503', errorResponse(503, 'SlowDown')],
])('an upload is retried after %s', async (_what, failure) => {
  const { client, sent, runToEnd } = createTestClient([failure, () => new Response(null, { status: 200 })]);
  await runToEnd(client.uploadArtifact(upload, archive));
  expect(sent).toHaveLength(2);
});

test('a refusal contains the error code of S3, but not the address or the body', async () => {
  const messageText = '<Error><Code>AccessDenied</Code><StringToSign>signature=secret</StringToSign></Error>';
  const { client, sent, expectError } = createTestClient([() => new Response(messageText, { status: 403 })]);
  const error = await expectError(client.uploadArtifact(upload, archive));
  expect(error).toBeInstanceOf(ComputeClientError);
  expect(error).toMatchObject({ status: 403, message: 'uploadArtifact: refused (403 AccessDenied)', causeBody: 'AccessDenied' });
  expect(JSON.stringify(error)).not.toContain('secret');
  expect(sent).toHaveLength(1);
});

test('an upload has a timeout of minutes', async () => {
  const never = () => new Promise<Response>(() => undefined);
  const { client, sent, expectError } = createTestClient([never], { retries: 0 });
  expect(await expectError(client.uploadArtifact(upload, archive))).toMatchObject({
    kind: 'timeout',
    message: 'uploadArtifact: no response within 300000 ms',
  });
  const short = createTestClient([never], { retries: 0 });
  expect(await short.expectError(short.client.uploadArtifact(upload, archive, { timeoutMs: 5 }))).toMatchObject({
    kind: 'timeout',
  });
  expect(sent).toHaveLength(1);
});
