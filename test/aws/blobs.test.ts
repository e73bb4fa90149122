/** Large values in S3: how many requests are open at once. */
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { S3Blobs, maxConcurrentValues } from '../../lib/aws/blobs.ts';
import { after, days, instant } from '../../lib/engine/time.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const now = instant(Date.UTC(2026, 0, 1));

test('the values of a wide fan-out are stored and read with a bounded number of requests', async () => {
  let open = 0;
  let most = 0;
  let handled = 0;
  const requestHandler = {
    handle: async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      handled += 1;
      return { response: { statusCode: 200, headers: {}, body: new Uint8Array() } };
    },
  };
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const client = new S3Client({ region: 'eu-west-1', credentials, requestHandler });
  const blobs = new S3Blobs(client, 'payloads', { now: () => now });
  const all = Array.from({ length: 200 }, (_, index) => blobs.put(scope, `run/${index}`, { index }, after(now, days(30))));
  await Promise.all(all);
  expect({ handled, most }).toEqual({ handled: 200, most: maxConcurrentValues });
});
