/** Contract of `HookTokens`, `DevKitStreams` and `RegisteredApps`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Nonce, commitNo, deploymentId, nonce } from '../../lib/engine/ids.ts';
import { inline } from '../../lib/engine/json.ts';
import { after, days } from '../../lib/engine/time.ts';
import type { DevKitPorts, RegisteredApp, StreamFlush, StreamName, TokenClaim } from '../../lib/ports/devkit.ts';
import { expiresAt, freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const chunk = (text: string) => ({ $bytes: Buffer.from(text).toString('base64') });
const flush = (first: number, ...texts: readonly string[]): StreamFlush => ({
  first,
  count: texts.length,
  chunks: inline(texts.map(chunk)),
});

let drawn = 0;
const newNonce = (): Nonce => nonce(`nonce-${(drawn += 1)}`);

export const devKitSuite = ({ name, open }: Subject<DevKitPorts>) =>
  describe(`tokens, streams and applications of the DevKit: ${name}`, () => {
    let opened: Opened<DevKitPorts>;
    let ports: DevKitPorts;
    beforeAll(async () => {
      opened = await open();
      ports = opened.port;
    });
    afterAll(() => opened.close());

    const claimOf = (runId = freshRun().runId): TokenClaim => ({
      runId,
      hookId: 'hook_1',
      nonce: newNonce(),
      commitNo: commitNo(3),
    });

    test('a token has one claim, within its scope', async () => {
      const [scope, one, two] = [freshScope(), claimOf(), claimOf()];
      expect(await ports.hookTokens.find(scope, 'order 7/#')).toBeUndefined();
      expect(await ports.hookTokens.claim(scope, 'order 7/#', one, expiresAt)).toEqual(one);
      expect(await ports.hookTokens.claim(scope, 'order 7/#', two, expiresAt)).toEqual(one);
      expect(await ports.hookTokens.find(scope, 'order 7/#')).toEqual(one);
      expect(await ports.hookTokens.claim(freshScope(), 'order 7/#', two, expiresAt)).toEqual(two);
    });

    test('of two that replace a claim, one does', async () => {
      const [scope, one, two, three] = [freshScope(), claimOf(), { ...claimOf(), commitNo: commitNo(9) }, claimOf()];
      expect(await ports.hookTokens.replace(scope, 't', one, two, expiresAt)).toBe(false);
      await ports.hookTokens.claim(scope, 't', one, expiresAt);
      expect(await ports.hookTokens.replace(scope, 't', one, two, expiresAt)).toBe(true);
      expect(await ports.hookTokens.replace(scope, 't', one, three, expiresAt)).toBe(false);
      expect(await ports.hookTokens.find(scope, 't')).toEqual(two);
    });

    test('a claim is released by its hook only', async () => {
      const run = freshRun();
      const claim = claimOf(run.runId);
      await ports.hookTokens.claim(run, 't', claim, expiresAt);
      await ports.hookTokens.releaseOf(run, 't', 'hook_2');
      await ports.hookTokens.releaseOf({ ...run, runId: freshRun().runId }, 't', 'hook_1');
      expect(await ports.hookTokens.find(run, 't')).toEqual(claim);
      await ports.hookTokens.releaseOf(run, 't', 'hook_1');
      await ports.hookTokens.releaseOf(run, 't', 'hook_1');
      expect(await ports.hookTokens.find(run, 't')).toBeUndefined();
    });

    test('the id of a hook leads to its run', async () => {
      const [one, two] = [freshRun(), freshRun()];
      expect(await ports.hookTokens.runOfHook(one, 'hook_1')).toBeUndefined();
      await ports.hookTokens.nameHook(one, 'hook_1', expiresAt);
      expect(await ports.hookTokens.runOfHook(one, 'hook_1')).toBe(one.runId);
      const later = { ...one, runId: two.runId };
      await ports.hookTokens.nameHook(later, 'hook_1', expiresAt);
      expect(await ports.hookTokens.runOfHook(one, 'hook_1')).toBe(two.runId);
    });

    describe.each([
      ['of a run', (): StreamName => ({ ...freshRun(), name: 'strm_1' })],
      ['without a run', (): StreamName => ({ ...freshScope(), name: '__health_check__1' })],
    ])('a stream %s', (_kind, newStream) => {
      test('has one flush for each first index, and is read from any index', async () => {
        const [stream, streams] = [newStream(), ports.devKitStreams];
        expect([await streams.last(stream), await streams.flushes(stream, 0, 10)]).toEqual([undefined, []]);
        expect(await streams.append(stream, flush(0, 'a', 'b'), expiresAt)).toBe(true);
        expect(await streams.append(stream, flush(0, 'x'), expiresAt)).toBe(false);
        await streams.append(stream, flush(2, 'c'), expiresAt);
        await streams.append(stream, flush(3, 'd', 'e', 'f'), expiresAt);
        await streams.append(stream, { ...flush(6), isLast: true }, expiresAt);
        expect((await streams.flushes(stream, 0, 10)).map(({ first }) => first)).toEqual([0, 2, 3, 6]);
        expect((await streams.flushes(stream, 1, 10)).map(({ first }) => first)).toEqual([0, 2, 3, 6]);
        expect((await streams.flushes(stream, 4, 1)).map(({ first }) => first)).toEqual([3]);
        expect(await streams.flushes(stream, 2, 1)).toEqual([flush(2, 'c')]);
        expect(await streams.last(stream)).toEqual({ ...flush(6), isLast: true });
        expect(await streams.last({ ...stream, name: 'strm_' })).toBeUndefined();
      });
    });

    test('a run has the names of its streams, and a name leads to its run', async () => {
      const [run, streams] = [freshRun(), ports.devKitStreams];
      expect(await streams.namesOf(run)).toEqual([]);
      for (const each of ['strm_b', 'strm_a', 'strm_b']) await streams.nameStream(run, each, expiresAt);
      expect(await streams.namesOf(run)).toEqual(['strm_a', 'strm_b']);
      expect(await streams.runOf(run, 'strm_a')).toBe(run.runId);
      expect(await streams.runOf(run, 'strm_c')).toBeUndefined();
      expect(await streams.namesOf(freshRun())).toEqual([]);
    });

    test('an application that registers again keeps its secret', async () => {
      const scope = freshScope();
      const app: RegisteredApp = {
        deploymentId: deploymentId('dpl_app_1'),
        baseUrl: 'https://example.com',
        secret: 'first',
        registeredAt: noon,
        sdk: '4.8.9',
        queueNamespace: 'shop',
      };
      expect(await ports.registeredApps.app(scope, app.deploymentId)).toBeUndefined();
      expect(await ports.registeredApps.register(scope, app, expiresAt)).toEqual(app);
      const again = { ...app, secret: 'second', registeredAt: after(noon, days(1)), specVersion: 5 };
      expect(await ports.registeredApps.register(scope, again, expiresAt)).toEqual({ ...again, secret: 'first' });
      expect(await ports.registeredApps.app(scope, app.deploymentId)).toEqual({ ...again, secret: 'first' });
      expect(await ports.registeredApps.app(freshScope(), app.deploymentId)).toBeUndefined();
    });
  });
