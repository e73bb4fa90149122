/** Contract of `Embeds`. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embedId, environment, keyId, projectId, runId, workflowName } from '../../lib/engine/ids.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import type { Embed, Embeds } from '../../lib/ports/embeds.ts';
import { noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const scope = { projectId: projectId('embeds'), environment: environment('prod') };
const embed = (more: Partial<Embed> = {}): Embed => ({
  id: embedId(`emb_${randomBytes(16).toString('base64url')}`),
  digest: randomBytes(32).toString('hex'),
  ...scope,
  target: { kind: 'run', runId: runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV') },
  origins: ['https://a.example', 'https://b.example'],
  createdAt: noon,
  expiresAt: after(noon, days(1)),
  keyId: keyId('0123456789'),
  ...more,
});

export const embedsSuite = ({ name, open }: Subject<Embeds>) =>
  describe(`embeds: ${name}`, () => {
    let opened: Opened<Embeds>;
    let embeds: Embeds;
    beforeAll(async () => {
      opened = await open();
      embeds = opened.port;
    });
    afterAll(() => opened.close());

    test('an embed is read as it was put, listed oldest first in its project alone, and gone after its deletion', async () => {
      const later = embed({
        createdAt: after(noon, minutes(1)),
        target: { kind: 'workflow', workflowName: workflowName('flow') },
      });
      const first = embed();
      const foreign = embed({ environment: environment('test') });
      for (const each of [later, first, foreign]) await embeds.put(each);
      expect(await embeds.embed(later.digest)).toEqual(later);
      expect(await embeds.list(scope)).toEqual([first, later]);
      expect(await embeds.delete(scope, foreign.id)).toBeUndefined();
      expect(await embeds.delete(scope, first.id)).toEqual(first);
      expect(await embeds.delete(scope, first.id)).toBeUndefined();
      expect([await embeds.embed(first.digest), await embeds.list(scope)]).toEqual([undefined, [later]]);
      expect(await embeds.embed(foreign.digest)).toEqual(foreign);
    });
  });
