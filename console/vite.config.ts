import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // The polyfill is for browsers that are too old for the rest, and inlined files would need data: in the policy of the page.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: {
    // `npm run dev:console` beside a running gateway.
    proxy: {
      '/graphql': 'http://127.0.0.1:9001',
      '/console/sign-in': 'http://127.0.0.1:9001',
      '/health': 'http://127.0.0.1:9001',
    },
  },
});
