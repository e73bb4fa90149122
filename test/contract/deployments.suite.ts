/** Contract of `Deployments`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DeploymentId, deploymentId, environment, keyId, appName } from '../../lib/engine/ids.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import {
  type ActivePointer,
  type Deployment,
  type DeploymentPosition,
  type Deployments,
  type Activation,
  defaultApp,
  maxActivationHistory,
} from '../../lib/ports/deployments.ts';
import { expiresAt, freshRun, freshScope, manifestOf, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export const deploymentsSuite = ({ name, open }: Subject<Deployments>) =>
  describe(`deployments: ${name}`, () => {
    let opened: Opened<Deployments>;
    let deployments: Deployments;
    beforeAll(async () => {
      opened = await open();
      deployments = opened.port;
    });
    afterAll(() => opened.close());

    const deployment = (id: string, facts: Partial<Deployment> = {}): Deployment => ({
      manifest: manifestOf(id),
      createdAt: noon,
      createdBy: null,
      ...facts,
    });
    const id = deploymentId('dep_1');
    const activeOnly = (revision: number, only: DeploymentId): ActivePointer => ({
      revision,
      apps: [{ app: defaultApp, workflows: ['hello'], history: [{ deploymentId: only, at: noon, by: null }] }],
    });

    test('a deployment is read as it was created, and only in its scope', async () => {
      const scope = freshScope();
      const small = deployment('dep_1', { createdBy: keyId('operator') });
      const large = deployment('dep_2', { manifest: manifestOf('dep_2', 2_000), verifiedAt: noon });
      for (const one of [small, large]) {
        expect(await deployments.create(scope, one)).toBe('stored');
        expect(await deployments.deployment(scope, one.manifest.deploymentId)).toEqual(one);
      }
      expect(await deployments.deployment(scope, deploymentId('dep_3'))).toBeUndefined();
      expect(await deployments.deployment({ ...scope, environment: environment('staging') }, id)).toBeUndefined();
      expect(await deployments.create({ ...scope, environment: environment('staging') }, small)).toBe('stored');
    });

    test('one of several concurrent creations under an id is stored', async () => {
      const scope = freshScope();
      const rivals = Array.from({ length: 8 }, (_, index) => deployment('dep_1', { createdAt: after(noon, minutes(index)) }));
      const results = await Promise.all(rivals.map((rival) => deployments.create(scope, rival)));
      expect(results.filter((result) => result === 'stored')).toHaveLength(1);
      const winner = rivals[results.indexOf('stored')];
      expect(await deployments.deployment(scope, id)).toEqual(winner);
      expect(await deployments.list(scope, { limit: 20 })).toEqual({ deployments: [winner] });
    });

    test('verification, activation and removal are recorded, and a removal can be reverted', async () => {
      const scope = freshScope();
      const created = deployment('dep_1');
      await deployments.create(scope, created);
      const at = after(noon, minutes(1));
      await deployments.markVerified(scope, id, noon);
      await deployments.markActivated(scope, id, noon);
      await deployments.markActivated(scope, id, at);
      const noted = { ...created, verifiedAt: noon, activatedAt: at };
      expect(await deployments.deployment(scope, id)).toEqual(noted);
      await deployments.setRemoving(scope, id, at);
      expect(await deployments.deployment(scope, id)).toEqual({ ...noted, removingSince: at });
      await deployments.setRemoving(scope, id, null);
      expect(await deployments.deployment(scope, id)).toEqual(noted);
    });

    const noteAll = async (scope: ReturnType<typeof freshScope>): Promise<void> => {
      await deployments.markVerified(scope, id, noon);
      await deployments.markActivated(scope, id, noon);
      await deployments.setRemoving(scope, id, noon);
      await deployments.setRemoving(scope, id, null);
    };

    test('a missing deployment is not changed', async () => {
      const scope = freshScope();
      await noteAll(scope);
      await deployments.remove(scope, id, noon);
      expect(await deployments.deployment(scope, id)).toBeUndefined();
      expect(await deployments.create(scope, deployment('dep_1'))).toBe('stored');
      expect(await deployments.deployment(scope, id)).toEqual(deployment('dep_1'));
    });

    test('a removed deployment is not found, and its id stays reserved', async () => {
      const scope = freshScope();
      await deployments.create(scope, deployment('dep_1'));
      await deployments.create(scope, deployment('dep_2'));
      for (let count = 0; count < 2; count += 1) await deployments.remove(scope, id, noon);
      await noteAll(scope);
      expect(await deployments.deployment(scope, id)).toBeUndefined();
      expect(await deployments.create(scope, deployment('dep_1'))).toBe('occupied');
      expect(await deployments.deployment(scope, id)).toBeUndefined();
      expect(await deployments.list(scope, { limit: 5 })).toEqual({ deployments: [deployment('dep_2')] });
    });

    test('only the deployments of a scope are listed, newest first, page by page', async () => {
      const scope = freshScope();
      const all = ['dep_a', 'dep_b', 'dep_c', 'dep_d', 'dep_e'].map((one, index) =>
        // two deployments of one moment
        deployment(one, { createdAt: after(noon, minutes(Math.min(index, 3))) }),
      );
      for (const one of all) await deployments.create(scope, one);
      await deployments.create({ ...scope, environment: environment('staging') }, deployment('dep_f'));
      await deployments.movePointer(scope, 0, activeOnly(1, id));
      const found: Deployment[] = [];
      let next: DeploymentPosition | undefined;
      do {
        const page = await deployments.list(scope, { limit: 2, ...(next === undefined ? {} : { after: next }) });
        expect(page.deployments.length).toBeLessThanOrEqual(2);
        found.push(...page.deployments);
        next = page.next;
      } while (next !== undefined);
      expect(found).toEqual(all.toReversed());
      for (const limit of [5, 6]) expect(await deployments.list(scope, { limit })).toEqual({ deployments: found });
      expect(await deployments.list(freshScope(), { limit: 5 })).toEqual({ deployments: [] });
    });

    test('each scope has its own pointer with the history of each app', async () => {
      const scope = freshScope();
      expect(await deployments.pointer(scope)).toBeUndefined();
      const first: ActivePointer = { revision: 1, apps: [] };
      const activation = (index: number): Activation => ({
        deploymentId: deploymentId(`dep_${index}`),
        at: after(noon, days(index)),
        by: index % 2 === 0 ? keyId('operator') : null,
        ...(index % 3 === 0 ? { isRollback: true } : {}),
      });
      const earlier = Array.from({ length: maxActivationHistory - 1 }, (_, index) => activation(index + 1));
      const apps = ['@acme/orders', 'billing'].map((name) => ({
        app: appName(name),
        workflows: [`${name}-a`, `${name}-b`],
        history: [activation(0), ...earlier] as const,
      }));
      const second: ActivePointer = { revision: 2, apps };
      expect(await deployments.movePointer(scope, 0, first)).toBe(true);
      expect(await deployments.pointer(scope)).toEqual(first);
      expect(await deployments.movePointer(scope, 1, second)).toBe(true);
      expect(await deployments.pointer(scope)).toEqual(second);
      expect(await deployments.pointer({ ...scope, environment: environment('staging') })).toBeUndefined();
    });

    test('one of several concurrent changes of a revision wins', async () => {
      const scope = freshScope();
      for (const from of [0, 1]) {
        const rivals = Array.from({ length: 8 }, (_, index) => activeOnly(from + 1, deploymentId(`dep_${index}`)));
        const results = await Promise.all(rivals.map((rival) => deployments.movePointer(scope, from, rival)));
        expect(results.filter(Boolean)).toHaveLength(1);
        expect(await deployments.pointer(scope)).toEqual(rivals[results.indexOf(true)]);
      }
      expect(await deployments.movePointer(scope, 5, { revision: 6, apps: [] })).toBe(false);
      expect(await deployments.movePointer(freshScope(), 5, { revision: 6, apps: [] })).toBe(false);
    });

    test('an extension keeps the pin and its time, and pins nothing for a run that has removed its pin', async () => {
      const scope = freshScope();
      const [pinning, ended] = [freshRun(scope).runId, freshRun(scope).runId];
      await deployments.pin(scope, id, pinning, { since: noon, expiresAt });
      for (const runId of [pinning, ended])
        await deployments.extendPin(scope, id, runId, { since: noon, expiresAt: after(expiresAt, days(7)) });
      expect(await deployments.pinnedRuns(scope, id, 5)).toEqual([{ runId: pinning, since: noon }]);
    });

    test('a run pins a deployment once, until it removes the pin', async () => {
      const scope = freshScope();
      const runs = [freshRun(scope), freshRun(scope), freshRun(scope)].map(({ runId }) => runId);
      for (const runId of [...runs, ...runs]) await deployments.pin(scope, id, runId, { since: noon, expiresAt });
      const pinned = async (limit: number) => new Set((await deployments.pinnedRuns(scope, id, limit)).map(({ runId }) => runId));
      expect(await pinned(5)).toEqual(new Set(runs));
      expect((await pinned(2)).size).toBe(2);
      expect((await deployments.pinnedRuns(scope, id, 5)).map(({ since }) => since)).toEqual([noon, noon, noon]);
      for (const runId of [runs[1], runs[1]]) if (runId) await deployments.unpin(scope, id, runId);
      expect(await pinned(5)).toEqual(new Set([runs[0], runs[2]]));
      expect(await deployments.pinnedRuns(scope, deploymentId('dep_2'), 5)).toEqual([]);
      expect(await deployments.pinnedRuns(freshScope(), id, 5)).toEqual([]);
    });
  });
