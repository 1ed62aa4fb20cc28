"""What a handler in stead answers."""

import stead


class Echo(stead.RequestHandler):
    def handle(self, request):
        return stead.Response(request.body, content_type="application/json")
