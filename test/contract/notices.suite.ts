/** Contract of `Notices`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { correlationId, deploymentId, scheduleId, workflowName, appName } from '../../lib/engine/ids.ts';
import { runEventLevels } from '../../lib/engine/run-events.ts';
import { after, iso, minutes } from '../../lib/engine/time.ts';
import { type Notices, deploymentChanges } from '../../lib/ports/notices.ts';
import { freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface NoticesUnderTest {
  readonly notices: Notices;
  /** The notifications so far, with times in RFC 3339. */
  readonly received: () => Promise<readonly object[]>;
}

export const noticesSuite = ({ name, open }: Subject<NoticesUnderTest>) =>
  describe(`notices: ${name}`, () => {
    let opened: Opened<NoticesUnderTest>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    test('a status change has its run, its workflow and its times', async () => {
      const { notices, received } = opened.port;
      const run = freshRun();
      const workflow = { name: 'order', version: 3 };
      const endedAt = after(noon, minutes(2));
      await notices.runStatusChanged({ run, workflow, status: 'running', startedAt: noon });
      await notices.runStatusChanged({ run, workflow, status: 'failed', startedAt: noon, endedAt });
      expect(await received()).toEqual([
        { ...run, workflow, status: 'running', startedAt: iso(noon) },
        { ...run, workflow, status: 'failed', startedAt: iso(noon), endedAt: iso(endedAt) },
      ]);
    });

    test('each notice that the port gets is published: the service applies the setting', async () => {
      const { notices, received } = opened.port;
      const before = (await received()).length;
      expect(runEventLevels).toContain(notices.runEvents);
      const facts = { run: freshRun(), workflow: { name: 'order' }, startedAt: noon };
      for (const status of ['running', 'completed', 'failed', 'cancelled'] as const)
        await notices.runStatusChanged({ ...facts, status });
      expect((await received()).slice(before)).toMatchObject([
        { status: 'running' },
        { status: 'completed' },
        { status: 'failed' },
        { status: 'cancelled' },
      ]);
    });

    test('the notification of a run names its deployment, its schedule and the correlation id', async () => {
      const { notices, received } = opened.port;
      const before = (await received()).length;
      const run = freshRun();
      const facts = {
        workflow: { name: 'order' },
        status: 'completed' as const,
        deploymentId: deploymentId('dep_1'),
        scheduleId: scheduleId('nightly'),
        correlationId: correlationId('order 17/retry'),
      };
      await notices.runStatusChanged({ run, ...facts, startedAt: noon, endedAt: noon });
      expect((await received()).slice(before)).toEqual([{ ...run, ...facts, startedAt: iso(noon), endedAt: iso(noon) }]);
    });

    test('an activation has its scope, the previous deployment and the revision of the pointer', async () => {
      const { notices, received } = opened.port;
      const before = (await received()).length;
      const scope = freshScope();
      const notice = { scope, app: appName('@acme/orders'), deploymentId: deploymentId('dep_2'), revision: 7, activatedAt: noon };
      await notices.deploymentActivated({ ...notice, previousDeploymentId: deploymentId('dep_1') });
      await notices.deploymentActivated({ ...notice, previousDeploymentId: null });
      const facts = { ...scope, app: '@acme/orders', deploymentId: 'dep_2', revision: 7, activatedAt: iso(noon) };
      expect((await received()).slice(before)).toEqual([
        { ...facts, previousDeploymentId: 'dep_1' },
        { ...facts, previousDeploymentId: null },
      ]);
    });

    test('a rollback is an activation with isRollback', async () => {
      const { notices, received } = opened.port;
      const scope = freshScope();
      const facts = {
        app: appName('orders'),
        deploymentId: deploymentId('dep_1'),
        previousDeploymentId: deploymentId('dep_2'),
        revision: 8,
      };
      await notices.deploymentActivated({ scope, ...facts, isRollback: true, activatedAt: noon });
      expect(await received()).toContainEqual({ ...scope, ...facts, isRollback: true, activatedAt: iso(noon) });
    });

    test('every other change of a deployment is published with its time', async () => {
      const { notices, received } = opened.port;
      const scope = freshScope();
      for (const change of deploymentChanges) {
        await notices.deploymentChanged({ scope, deploymentId: deploymentId('dep_3'), change, changedAt: noon });
        expect(await received()).toContainEqual({ ...scope, deploymentId: 'dep_3', change, changedAt: iso(noon) });
      }
    });

    test('a fire that started nothing is published with its schedule, its due time and the reason', async () => {
      const { notices, received } = opened.port;
      const before = (await received()).length;
      const scope = freshScope();
      const failed = { code: 'workflow_archived', message: 'the workflow is archived' };
      const notice = { scheduleId: scheduleId('nightly'), workflowName: workflowName('order'), ...failed };
      await notices.scheduleFailed({ scope, ...notice, scheduledAt: noon, failedAt: after(noon, minutes(1)) });
      expect((await received()).slice(before)).toEqual([
        { ...scope, ...notice, scheduledAt: iso(noon), failedAt: iso(after(noon, minutes(1))) },
      ]);
    });
  });
