import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** Time and random values come from the arguments: they are the same in each replay. */
export const drawWinner = defineWorkflow(
  { name: 'draw-winner' },
  async ({ input, step, run, log, now, random, uuid }: WorkflowArguments<{ readonly names: readonly string[] }>) => {
    const drawnAt = now();
    const winner = input.names[Math.floor(random() * input.names.length)] ?? null;
    log.info('drawn', { winner, run: run.id });
    await step.sleep('suspense', '100ms');
    const voucher = uuid();
    const sent = await step.run({ name: 'send' }, () => ({ winner, voucher, drawnAt }));
    return { isWon: sent.winner === winner && sent.voucher === voucher && sent.drawnAt === drawnAt.toISOString() };
  },
);
