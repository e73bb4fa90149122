/**
 * Refuses triggers on the bus of the installation whose runs start each other without end: the end of a run starts a run, whose end
 * starts a run. EventBridge and Lambda do not notice such a loop, and each round is billed.
 */
import { Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import * as z from 'zod';
import { runsEnded } from '../contract/metrics.ts';
import { endedRuns } from '../contract/tracing.ts';
import type { EndStatus } from './installation.ts';

/** Members that every event bus of the CDK has. */
export type BusReference = Omit<events.IEventBus, 'eventSourceName'>;

const texts = z.array(z.string());

/** A part that is no list of texts may match everything. */
const patternShape = z.looseObject({
  source: texts.optional().catch(undefined),
  'detail-type': texts.optional().catch(undefined),
  detail: z
    .looseObject({
      status: texts.optional().catch(undefined),
      workflow: z
        .looseObject({ name: texts.optional().catch(undefined) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});

interface BusPattern {
  /** undefined: any */
  readonly workflows: readonly string[] | undefined;
  /** the ends among what it matches */
  readonly statuses: readonly EndStatus[];
}

/** Which ends of runs the rule receives; undefined: none, because it is on another bus or matches other events. */
export function busPatternOf(rule: events.Rule, eventBus: BusReference): BusPattern | undefined {
  const resource = rule.node.defaultChild;
  if (!(resource instanceof events.CfnRule)) return undefined;
  const stack = Stack.of(rule);
  const text = (value: unknown): string => JSON.stringify(stack.resolve(value) ?? 'default');
  const ownNames = [eventBus.eventBusName, eventBus.eventBusArn].map(text);
  if (!ownNames.includes(text(resource.eventBusName))) return undefined;
  const { source, 'detail-type': types, detail } = patternShape.parse(stack.resolve(resource.eventPattern) ?? {});
  if (source?.includes(endedRuns.source) === false || types?.includes(endedRuns.detailType) === false) return undefined;
  return {
    workflows: detail?.workflow?.name,
    statuses: runsEnded.statuses.filter((status) => detail?.status?.includes(status) !== false),
  };
}

interface BusTrigger {
  readonly name: string;
  readonly rule: events.Rule;
  readonly workflowName: string;
}

export class TriggerLoops {
  readonly #triggers: BusTrigger[] = [];

  constructor(scope: Construct, eventBus: BusReference) {
    // At the end of the synthesis, because a rule may get patterns until then.
    scope.node.addValidation({ validate: () => this.#loops(eventBus) });
  }

  add(trigger: BusTrigger): void {
    this.#triggers.push(trigger);
  }

  #loops(eventBus: BusReference): string[] {
    const starts = this.#triggers.flatMap(({ name, rule, workflowName }) => {
      const pattern = busPatternOf(rule, eventBus);
      return pattern === undefined ? [] : [{ name, workflowName, after: pattern.workflows }];
    });
    /** The workflows that can follow the end of a run of this workflow. */
    const nextOf = (workflow: string) => starts.filter(({ after }) => after === undefined || after.includes(workflow));
    return starts.flatMap(({ name, workflowName }) => {
      const reached = new Set([workflowName]);
      for (const workflow of reached) for (const next of nextOf(workflow)) reached.add(next.workflowName);
      const closes = [...reached].some((workflow) => nextOf(workflow).some((next) => next.name === name));
      return closes
        ? [
            `trigger_loops: the trigger ${name} starts ${workflowName}, and the end of such a run starts it again, so that runs start each other without end. Name in its pattern the workflows whose ends it receives: detail.workflow.name.`,
          ]
        : [];
    });
  }
}
