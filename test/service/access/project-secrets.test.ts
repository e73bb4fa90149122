import { beforeEach, describe, expect, test } from 'vitest';
import { environment, projectId } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { MemorySecrets } from '../../../lib/memory/secrets.ts';
import { SecretCache } from '../../../lib/service/access/secret-cache.ts';
import { ProjectSecrets } from '../../../lib/service/access/project-secrets.ts';

const acme = { projectId: projectId('acme'), environment: environment('test') };
const list = {
  acme: {
    '*': { key: 'arn:all', part: 'arn:json#password', none: 'arn:json#missing', gone: 'arn:gone' },
    test: { key: 'arn:test' },
  },
};

let secrets: MemorySecrets;
let clock: ReturnType<typeof memoryPorts>['clock'];
let project: ProjectSecrets;
beforeEach(() => {
  secrets = new MemorySecrets();
  secrets.create('arn:all', 'of all');
  secrets.create('arn:test', 'of test');
  secrets.create('arn:json', JSON.stringify({ password: 'pw', port: 5432 }));
  clock = memoryPorts().clock;
  project = new ProjectSecrets(new SecretCache(secrets, clock), async () => list);
});

const known = (text: string) => ({ kind: 'secret', text });

describe('a name refers to', () => {
  test('the value of its environment, else the value of all environments', async () => {
    expect(await project.of(acme, 'key')).toEqual(known('of test'));
    expect(await project.of({ ...acme, environment: environment('prod') }, 'key')).toEqual(known('of all'));
  });

  test('a value in the JSON of a secret, if the reference names a key', async () => {
    expect(await project.of(acme, 'part')).toEqual(known('pw'));
    expect(await project.of(acme, 'none')).toEqual({ kind: 'missing' });
    expect(await project.of(acme, 'gone')).toEqual({ kind: 'missing' });
  });

  test('nothing for another project, and names of JavaScript built-ins are refused', async () => {
    expect(await project.of({ ...acme, projectId: projectId('other') }, 'key')).toEqual({ kind: 'not_allowed' });
    for (const name of ['toString', '__proto__', 'other']) expect(await project.of(acme, name)).toEqual({ kind: 'not_allowed' });
  });
});

test('a text is cached for five minutes, a missing text is not cached', async () => {
  await project.of(acme, 'key');
  await secrets.setValue('arn:test', 'newer');
  clock.advance(seconds(299));
  expect(await project.of(acme, 'key')).toEqual(known('of test'));
  clock.advance(seconds(1));
  expect(await project.of(acme, 'key')).toEqual(known('newer'));
  await project.of(acme, 'gone');
  secrets.create('arn:gone', 'created');
  expect(await project.of(acme, 'gone')).toEqual(known('created'));
});
