import { NonRetryableError, type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

interface Trip {
  readonly city: string;
  readonly hasGuide: boolean;
}

/** Cancels the bookings in reverse order when the run fails or is cancelled. */
export const bookTrip = defineWorkflow({ name: 'book-trip' }, async ({ input, step }: WorkflowArguments<Trip>) => {
  const flight = await step.run({ name: 'flight', rollback: ({ output }) => giveBack(output) }, () => `flight to ${input.city}`);
  const hotel = await step.run({ name: 'hotel', rollback: ({ output }) => giveBack(output) }, () => `hotel in ${input.city}`);
  const guide = await step.run({ name: 'guide' }, () => {
    if (!input.hasGuide) throw new NonRetryableError(`there is no guide in ${input.city}`, { code: 'no_guide' });
    return `guide of ${input.city}`;
  });
  return [flight, hotel, guide];
});

/** Stands for a request that cancels a booking. */
const giveBack = (booking: string): string => `no ${booking}`;
