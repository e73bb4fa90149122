/** An order: a retried step, a sleep, a stream, a hook for the approval, and parallel steps. */
import { createHook, getStepMetadata, getWritable, RetryableError, sleep } from 'workflow';
import { start } from 'workflow/api';

interface Approval {
  readonly by: string;
}

export async function order(item: string) {
  'use workflow';
  const price = await quote(item);
  await sleep('1s');
  const receipt = await charge(price);
  await report(receipt);
  using approval = createHook<Approval>({ token: `approve:${item}` });
  const { by } = await approval;
  const parts = await Promise.all([1, 2, 3].map((part) => pack(item, part)));
  return { item, price, receipt, by, parts, letter: await thank(by) };
}

/** A workflow of its own, which a step of the order starts and waits for. */
export async function letter(name: string) {
  'use workflow';
  return `Dear ${name}, your order is on its way.`;
}

async function quote(item: string) {
  'use step';
  return item.length * 10;
}

async function charge(price: number) {
  'use step';
  const { attempt } = getStepMetadata();
  if (attempt < 2) throw new RetryableError('the card service is busy', { retryAfter: '1s' });
  return `receipt-${price}-${attempt}`;
}

async function report(receipt: string) {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(`charged ${receipt}`);
  writer.releaseLock();
}

async function pack(item: string, part: number) {
  'use step';
  return `${item}-${part}`;
}

async function thank(name: string) {
  'use step';
  const run = await start(letter, [name]);
  return run.returnValue;
}
