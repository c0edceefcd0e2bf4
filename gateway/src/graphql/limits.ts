// What a request may ask for in one go. Relations lead in circles, so depth has to end somewhere.
import { depthLimit } from '@graphile/depth-limit';

export const limitsPlugin: GraphileConfig.Plugin = {
  name: 'LimitsPlugin',
  version: '1.0.0',
  grafserv: {
    middleware: {
      setPreset(next, event) {
        event.validationRules = [
          ...event.validationRules,
          depthLimit({
            maxDepth: 12,
            maxListDepth: 4,
            maxSelfReferentialDepth: 2,
            // As deep as the introspection query of graphql-js goes.
            maxIntrospectionDepth: 14,
            maxDepthByFieldCoordinates: { '__Type.ofType': 9 },
            revealDetails: true,
          }),
        ];
        return next();
      },
    },
  },
};
