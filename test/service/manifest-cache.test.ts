import { expect, test } from 'vitest';
import { type Scope, deploymentId, environment } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Deployments } from '../../lib/ports/deployments.ts';
import { ManifestCache } from '../../lib/service/deployments/manifest-cache.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { scope } from './test-env.ts';

const { manifest } = await packedDeployment('dpl_1', {});

function countedDeployments() {
  const read: string[] = [];
  const deployments: Pick<Deployments, 'deployment'> = {
    deployment: async ({ environment: name }: Scope, id) => {
      read.push(`${name} ${id}`);
      return id === 'dpl_none'
        ? undefined
        : { manifest: { ...manifest, deploymentId: id }, createdAt: instant(0), createdBy: null };
    },
  };
  return { read, deployments };
}

test('a manifest is read once in each scope, and an absent one each time', async () => {
  const { read, deployments } = countedDeployments();
  const cache = new ManifestCache();
  const other = { ...scope, environment: environment('other') };
  for (let time = 0; time < 2; time += 1) {
    expect((await cache.manifest(deployments, scope, deploymentId('dpl_1')))?.deploymentId).toBe('dpl_1');
    await cache.manifest(deployments, other, deploymentId('dpl_1'));
    expect(await cache.manifest(deployments, scope, deploymentId('dpl_none'))).toBeUndefined();
  }
  expect(read).toEqual(['test dpl_1', 'other dpl_1', 'test dpl_none', 'test dpl_none']);
});

test('the least recently used of many manifests is read again', async () => {
  const { read, deployments } = countedDeployments();
  const cache = new ManifestCache();
  const use = (number: number) => cache.manifest(deployments, scope, deploymentId(`dpl_${number}`));
  for (let number = 1; number <= 32; number += 1) await use(number);
  await use(1);
  await use(33);
  read.length = 0;
  await use(1);
  await use(2);
  expect(read).toEqual(['test dpl_2']);
});
