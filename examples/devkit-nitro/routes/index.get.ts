/** Forms for the two requests of an order. */
import { defineHandler, html } from 'nitro';

export default defineHandler(
  () =>
    html`<!doctype html>
      <html lang="en">
        <title>Orders</title>
        <main>
          <h1>Orders</h1>
          <form action="/orders" method="post">
            <input name="item" aria-label="Item to order" required />
            <button type="submit">Order</button>
          </form>
          <form action="/orders/approve" method="post">
            <input name="item" aria-label="Item to approve" required />
            <input name="by" aria-label="Your name" required />
            <button type="submit">Approve</button>
          </form>
        </main>
      </html>`,
);
