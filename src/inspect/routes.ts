/** Serves the inspector page at `/`. Everything it shows comes from `/v3`. */
import type { Route } from '../events/http/server.ts';
import { loadPage } from './page-asset.ts';

export function inspectorRoutes(): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      handle: async (_, response) => {
        const { html, policy } = await loadPage();
        response.writeHead(200, {
          'content-type': 'text/html; charset=utf-8',
          // Its scripts and styles are named by their digests: nothing that is injected ever runs.
          'content-security-policy': `${policy}; frame-ancestors 'none'`,
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
        });
        response.end(html);
      },
    },
  ];
}
